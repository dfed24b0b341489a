// Before anything is painted: the theme that was chosen here, else the system's.
(function () {
  var chosen = null;
  try { chosen = localStorage.getItem("corml-theme"); } catch (fault) { /* no storage: the system's theme */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
