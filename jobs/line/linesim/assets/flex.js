// Draws a Flex message as LINE does on a phone. Every colour and size goes through the CSS object model: the page's
// content security policy allows no style attributes in HTML.
//
// Sizes in px are those of https://developers.line.biz/en/docs/messaging-api/flex-message-elements/ and
// https://developers.line.biz/en/docs/messaging-api/flex-message-layout/ , read in October 2026; where these pages give
// none, they are measured by eye.
"use strict";

window.drawFlex = (() => {
  const SPACE = { none: "0", xs: "2px", sm: "4px", md: "8px", lg: "12px", xl: "16px", xxl: "20px" };
  const RADIUS = SPACE;
  const BORDER = { none: "0", light: "0.5px", normal: "1px", medium: "2px", "semi-bold": "3px", bold: "4px" };
  const TEXT = { xxs: "11px", xs: "13px", sm: "14px", md: "16px", lg: "19px", xl: "22px", xxl: "29px", "3xl": "35px", "4xl": "48px", "5xl": "74px" };
  const IMAGE = { xxs: "40px", xs: "60px", sm: "80px", md: "100px", lg: "120px", xl: "140px", xxl: "160px", "3xl": "180px", "4xl": "200px", "5xl": "220px", full: "100%" };
  const BUBBLE = { nano: "120px", micro: "160px", deca: "220px", hecto: "241px", kilo: "260px", mega: "300px", giga: "386px" };
  const SMALL = new Set(["nano", "micro", "deca", "hecto", "kilo"]);

  const el = (tag, className) => Object.assign(document.createElement(tag), { className });
  const set = (node, property, value) => { if (value !== undefined && value !== null && value !== "") node.style.setProperty(property, value); };
  const size = (words, value) => (value === undefined || value === null ? undefined : words[value] ?? value);
  // A colour of 8 digits has its alpha at the end, as in CSS.
  const colour = (value) => (/^#([0-9a-f]{6}|[0-9a-f]{8})$/i.test(value || "") ? value : undefined);

  // Tap is given { uri } or { postback } or { say } by the page.
  function actionable(node, action, tap) {
    if (!action) return node;
    const wrap = (tag) => {
      const outer = el(tag, node.className + " fx-tap");
      outer.style.cssText = node.style.cssText;
      outer.append(...node.childNodes);
      return outer;
    };
    if (action.type === "uri") {
      const a = wrap("a");
      const target = tap.uri(action.uri);
      if (!target) return node;
      a.href = target;
      a.target = "_blank";
      a.rel = "noopener";
      return a;
    }
    if (action.type === "postback" || action.type === "message") {
      const b = wrap("button");
      b.type = "button";
      b.addEventListener("click", () => (action.type === "postback" ? tap.postback(action) : tap.say(action.text)));
      return b;
    }
    return node;
  }

  // place gives a component its share of its parent and its offsets.
  function place(node, c, parent, index) {
    const row = parent.layout !== "vertical";
    const natural = c.type === "separator" || c.type === "icon" || c.type === "span";
    let flex = c.flex;
    if (c.type === "filler" || c.type === "spacer") flex = c.type === "filler" ? flex || 1 : 0;
    if (flex === undefined || flex === null) flex = row && !natural && !c.width ? 1 : 0;
    set(node, "flex", flex > 0 ? (row ? `${flex} 1 0` : `${flex} 0 auto`) : "0 0 auto");
    const gap = c.margin ?? (index > 0 ? parent.spacing : undefined);
    if (index > 0 || c.margin) set(node, row ? "margin-inline-start" : "margin-top", size(SPACE, gap));
    if (c.position === "absolute") {
      set(node, "position", "absolute");
    } else {
      set(node, "position", "relative");
    }
    set(node, "top", size(SPACE, c.offsetTop));
    set(node, "bottom", size(SPACE, c.offsetBottom));
    set(node, "inset-inline-start", size(SPACE, c.offsetStart));
    set(node, "inset-inline-end", size(SPACE, c.offsetEnd));
    const gravity = { top: "flex-start", center: "center", bottom: "flex-end" }[c.gravity];
    if (row && parent.layout !== "baseline") set(node, "align-self", gravity);
    return node;
  }

  function box(c, tap) {
    const node = el("div", "fx-box");
    const row = c.layout !== "vertical";
    set(node, "flex-direction", row ? "row" : "column");
    if (c.layout === "baseline") set(node, "align-items", "baseline");
    set(node, "justify-content", c.justifyContent);
    set(node, "align-items", c.alignItems);
    set(node, "background-color", colour(c.backgroundColor));
    set(node, "border-radius", size(RADIUS, c.cornerRadius));
    if (c.cornerRadius) set(node, "overflow", "hidden");
    if (c.borderWidth && c.borderWidth !== "none" || c.borderColor) {
      set(node, "border", `${size(BORDER, c.borderWidth ?? "normal")} solid ${colour(c.borderColor) ?? "#000000"}`);
    }
    for (const name of ["width", "height"]) set(node, name, c[name]);
    set(node, "max-width", c.maxWidth);
    set(node, "max-height", c.maxHeight);
    set(node, "padding", size(SPACE, c.paddingAll));
    set(node, "padding-top", size(SPACE, c.paddingTop));
    set(node, "padding-bottom", size(SPACE, c.paddingBottom));
    set(node, "padding-inline-start", size(SPACE, c.paddingStart));
    set(node, "padding-inline-end", size(SPACE, c.paddingEnd));
    if (c.background && c.background.type === "linearGradient") {
      const g = c.background;
      const stops = [colour(g.startColor), g.centerColor && `${colour(g.centerColor)} ${g.centerPosition ?? "50%"}`, colour(g.endColor)].filter(Boolean);
      set(node, "background-image", `linear-gradient(${g.angle}, ${stops.join(", ")})`);
    }
    (c.contents || []).forEach((child, i) => node.append(place(component(child, tap, c), child, c, i)));
    return actionable(node, c.action, tap);
  }

  function textStyle(node, c, fallback) {
    set(node, "font-size", size(TEXT, c.size ?? fallback));
    set(node, "font-weight", c.weight === "bold" ? "700" : c.weight === "regular" ? "400" : undefined);
    set(node, "color", colour(c.color));
    set(node, "font-style", c.style === "italic" ? "italic" : undefined);
    set(node, "text-decoration-line", c.decoration && c.decoration !== "none" ? c.decoration : undefined);
  }

  function textOf(c, tap) {
    const node = el("div", "fx-text");
    textStyle(node, c, "md");
    set(node, "text-align", c.align);
    set(node, "line-height", c.lineSpacing ? `calc(1.4em + ${c.lineSpacing})` : undefined);
    if (c.contents && c.contents.length) {
      for (const span of c.contents) {
        const s = el("span", "");
        textStyle(s, span);
        s.textContent = span.text;
        node.append(s);
      }
    } else {
      node.textContent = c.text;
    }
    if (!c.wrap) {
      node.classList.add("fx-one-line");
    } else if (c.maxLines > 0) {
      node.classList.add("fx-lines");
      set(node, "-webkit-line-clamp", String(c.maxLines));
    }
    if (c.gravity === "center") set(node, "margin-block", "auto");
    return actionable(node, c.action, tap);
  }

  function button(c, tap) {
    const style = c.style || "link";
    const node = el("div", `fx-button fx-button-${style}`);
    set(node, "height", c.height === "sm" ? "40px" : "52px");
    set(node, style === "link" ? "color" : "background-color", colour(c.color));
    const label = el("span", "");
    label.textContent = (c.action && c.action.label) || "";
    node.append(label);
    return actionable(node, c.action, tap);
  }

  // Pictures are not fetched: the simulator asks nobody for anything.
  function image(c) {
    const node = el("div", "fx-image");
    const [w, h] = (c.aspectRatio || "1:1").split(":");
    set(node, "width", size(IMAGE, c.size ?? "md"));
    set(node, "aspect-ratio", `${w} / ${h}`);
    set(node, "background-color", colour(c.backgroundColor));
    set(node, "align-self", { start: "flex-start", end: "flex-end" }[c.align] || "center");
    return node;
  }

  function component(c, tap, parent) {
    switch (c.type) {
      case "box": return box(c, tap);
      case "text": return textOf(c, tap);
      case "button": return button(c, tap);
      case "image":
      case "video": return actionable(image(c), c.action, tap);
      case "icon": {
        const node = el("div", "fx-icon");
        set(node, "width", size(TEXT, c.size ?? "md"));
        set(node, "height", size(TEXT, c.size ?? "md"));
        return node;
      }
      case "separator": {
        const node = el("div", parent.layout === "vertical" ? "fx-separator" : "fx-separator fx-separator-upright");
        set(node, "background-color", colour(c.color));
        return node;
      }
      default: return el("div", "fx-filler");
    }
  }

  function bubble(c, tap) {
    const node = el("div", "fx-bubble");
    set(node, "width", BUBBLE[c.size] || BUBBLE.mega);
    if (c.direction === "rtl") node.dir = "rtl";
    const inset = SMALL.has(c.size) ? "13px" : "20px";
    for (const name of ["header", "hero", "body", "footer"]) {
      const block = c[name];
      if (!block) continue;
      const style = (c.styles && c.styles[name]) || {};
      const outer = el("div", "fx-block");
      if (style.separator) outer.append(Object.assign(el("div", "fx-separator")));
      const inner = component(block, tap, { layout: "vertical" });
      if (name !== "hero" && block.type === "box") {
        const own = block.paddingAll ?? block.paddingTop ?? block.paddingBottom ?? block.paddingStart ?? block.paddingEnd;
        if (own === undefined) {
          set(inner, "padding", name === "footer" ? "10px" : inset);
        } else if (block.paddingAll === undefined) {
          for (const [side, given] of [["top", block.paddingTop], ["bottom", block.paddingBottom], ["inline-start", block.paddingStart], ["inline-end", block.paddingEnd]]) {
            if (given === undefined) set(inner, `padding-${side}`, name === "footer" ? "10px" : inset);
          }
        }
      }
      set(outer, "background-color", colour(style.backgroundColor));
      outer.append(inner);
      node.append(outer);
    }
    return actionable(node, c.action, tap);
  }

  return (container, tap) => {
    if (container.type === "bubble") return bubble(container, tap);
    const row = el("div", "fx-carousel");
    for (const b of container.contents || []) row.append(bubble(b, tap));
    return row;
  };
})();
