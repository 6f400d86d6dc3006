// Runs before the first paint, so that a chosen theme does not flash. No module: those come later.
(() => {
  try {
    const theme = localStorage.getItem("lathe.theme");
    if (theme) document.documentElement.dataset.theme = theme;
  } catch {
    // A browser that keeps nothing follows the system.
  }
})();
