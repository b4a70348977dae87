// A screen on a wall is looked at from afar: all on it is as large as its place allows.

const main = document.querySelector('main');
const phone = matchMedia('(max-width: 720px)');

// fit finds the largest size, in tenths, at which nothing has to be scrolled to: not by
// halves, as what is larger may break into lines that take less. Else all has its own.
function fit() {
  const page = document.documentElement;
  let tenths = phone.matches ? 10 : 40;
  main.style.zoom = tenths / 10;
  while (tenths > 10 && (page.scrollHeight > innerHeight || page.scrollWidth > innerWidth)) {
    tenths--;
    main.style.zoom = tenths / 10;
  }
}

new ResizeObserver(() => requestAnimationFrame(fit)).observe(main);
addEventListener('resize', fit);
