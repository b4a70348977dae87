// Before anything is shown: which colours, and that scripts run.
(() => {
  const root = document.documentElement;
  root.dataset.script = '';
  try {
    const kept = localStorage.getItem('recloser:theme');
    if (kept === 'light' || kept === 'dark') root.dataset.theme = kept;
  } catch {
    // a browser may keep nothing for a frame in another site's page
  }
})();
