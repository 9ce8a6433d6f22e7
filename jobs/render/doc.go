// Package render turns HTML into PNG through one supervised headless Chrome.
//
// Nothing reaches the network, and nothing of this machine reaches the picture:
// the page is answered from memory under a name that cannot be resolved, its fonts
// come from package static, and every other request fails. The same page gives the
// same pixels on every machine with the same Chrome.
//
// Chrome is started by the first picture, kept while there is work and ended when
// there has been none for a while. Each picture has a tab of its own. A Chrome that
// dies is replaced within the same call, one that does not answer in time is
// killed. No process and no folder is left behind; what a killed program leaves in
// the folder, the next one removes. Where this program is PID 1 (a container),
// Chrome's helpers stay zombies after it has gone: run it under an init.
//
// # Chrome's flags
//
// To chromedp's defaults (headless, no first-run pages, no background work, sRGB,
// no sandbox when root) come these, each for a reason:
//
//   - disable-gpu: software drawing only; a GPU draws other pixels.
//   - host-resolver-rules "MAP * ~NOTFOUND": no name and no address can be
//     connected to, whatever the page finds to ask for.
//   - no-proxy-server: a proxy of the machine would resolve names in our place.
//   - disable-component-update, disable-domain-reliability, disable-quic, no-pings:
//     Chrome's own calls home, which are not requests of a page.
//   - font-render-hinting none, disable-lcd-text: glyphs shaped and smoothed
//     alike everywhere, whatever the machine's settings say.
//
// Chrome's environment is built from nothing, since ours holds secrets, and sets
// HOME and TMPDIR to the folder of this life of Chrome and FONTCONFIG_FILE to a
// configuration with a single small font.
package render
