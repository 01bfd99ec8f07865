// Runs before the first paint, so that a chosen theme does not flash into the other one.
try {
  const chosen = localStorage.getItem('hone.theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is blocked: the system's theme holds.
}
