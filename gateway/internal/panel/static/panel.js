// What every page does.

import * as acts from './act.js';
import { localise, tick } from './clock.js';
import * as list from './find.js';
import { watch } from './live.js';

const themes = ['', 'light', 'dark'];
const themeNames = { '': 'as the system has them', light: 'light', dark: 'dark' };

function showTheme(theme) {
  const root = document.documentElement;
  if (theme) {
    root.dataset.theme = theme;
    localStorage.setItem('recloser:theme', theme);
  } else {
    delete root.dataset.theme;
    localStorage.removeItem('recloser:theme');
  }
  const button = document.querySelector('[data-theme-button]');
  button.textContent = '◐';
  button.setAttribute('aria-label', `Colours: ${themeNames[theme]}`);
  button.title = button.getAttribute('aria-label');
}

showTheme(document.documentElement.dataset.theme ?? '');
document.querySelector('[data-theme-button]').addEventListener('click', () => {
  const theme = document.documentElement.dataset.theme ?? '';
  showTheme(themes[(themes.indexOf(theme) + 1) % themes.length]);
});

localise();
setInterval(() => {
  if (!('stale' in document.documentElement.dataset)) tick(); // nobody knows what goes on
}, 1000);
setInterval(localise, 60e3); // a day may have begun
acts.listen();
list.listen();
list.find();
watch(() => {
  list.find();
  tick();
});
