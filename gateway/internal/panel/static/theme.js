// Before anything is shown: which colours, and that scripts run.
(() => {
  const root = document.documentElement;
  root.dataset.script = '';
  const kept = localStorage.getItem('recloser:theme');
  if (kept === 'light' || kept === 'dark') {
    root.dataset.theme = kept;
  }
})();
