package linesim

import "net/http"

func (s *Simulator) controlRoutes(m *http.ServeMux, guard *http.CrossOriginProtection) {}
