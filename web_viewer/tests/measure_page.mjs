// Functions that run in the page, by way of page.evaluate: each closes over nothing.

/** Milliseconds from navigation to the first thing on screen. */
export const firstPaint = () =>
  new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const entry = list.getEntries().find(({ name }) => name === 'first-contentful-paint');
      if (entry) resolve(entry.startTime);
    }).observe({ type: 'paint', buffered: true });
  });

/** Milliseconds from picking a file to its heads on screen. */
export const opened = () =>
  new Promise((resolve) => {
    const look = () => {
      const { heads } = window.__attnscope.state();
      if (heads > 0 && document.querySelector('.grid-scroll canvas')) {
        requestAnimationFrame(() => resolve(performance.now() - window.__picked));
      } else requestAnimationFrame(look);
    };
    look();
  });

/** Milliseconds until a head's map is complete. */
export const switchTo = (name) =>
  new Promise((resolve) => {
    const begin = performance.now();
    location.hash = `#v=1&s=head&h=${name}`;
    const look = () => {
      const line = document.querySelector('.bottom .status')?.textContent ?? '';
      const shown = document.querySelector('.stepper h2')?.textContent === `Head ${name}`;
      if (shown && !line.includes('reading') && window.__attnscope.value(900, 10) !== null) {
        resolve(performance.now() - begin);
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });

/** Milliseconds for the complete maps of several heads, one after the other. */
export const everyHead = async (names) => {
  const begin = performance.now();
  for (const name of names) {
    location.hash = `#v=1&s=head&h=${name}`;
    await new Promise((resolve) => {
      const look = () => {
        const line = document.querySelector('.bottom .status')?.textContent ?? '';
        const shown = document.querySelector('.stepper h2')?.textContent === `Head ${name}`;
        if (shown && !line.includes('reading') && window.__attnscope.value(900, 10) !== null) {
          resolve();
        } else setTimeout(look, 0);
      };
      look();
    });
  }
  return performance.now() - begin;
};

/** Heads a second while the key of the next head repeats as fast as they are painted. */
export const heldKey = async (count) => {
  const seen = new Set();
  const begin = performance.now();
  for (let i = 0; i < count; ++i) {
    const how = { key: 'ArrowRight', bubbles: true, repeat: i > 0 };
    document.body.dispatchEvent(new KeyboardEvent('keydown', how));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    seen.add(document.querySelector('.stepper h2')?.textContent);
  }
  return (1000 * seen.size) / (performance.now() - begin);
};

/** Milliseconds of each frame of a drag over a map that was zoomed in. */
export const panFrames = () =>
  new Promise((resolve) => {
    const times = [];
    const holder = document.querySelector('.head-map .canvas');
    const box = holder.getBoundingClientRect();
    const at = (type, x, y, buttons) =>
      holder.dispatchEvent(
        new PointerEvent(type, {
          clientX: box.left + x,
          clientY: box.top + y,
          bubbles: true,
          buttons,
          pointerId: 1,
        }),
      );
    holder.setPointerCapture = () => {};
    holder.dispatchEvent(
      new WheelEvent('wheel', {
        deltaY: -500,
        clientX: box.left + 400,
        clientY: box.top + 250,
        bubbles: true,
        cancelable: true,
      }),
    );
    at('pointerdown', 400, 250, 1);
    let step = 0;
    const next = () => {
      const begin = performance.now();
      at('pointermove', 400 - step, 250 - step, 1);
      times.push(performance.now() - begin);
      if (++step < 120) requestAnimationFrame(next);
      else resolve(times);
    };
    requestAnimationFrame(next);
  });

/** Milliseconds until a map is on screen in other colours. */
export const recolour = async () => {
  const begin = performance.now();
  location.hash = location.hash.replace(/&c=\w+/, '') + '&c=viridis';
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return performance.now() - begin;
};

/** Milliseconds until a view is complete. */
export const reach = (address) =>
  new Promise((resolve) => {
    const begin = performance.now();
    location.hash = address;
    const look = () => {
      const line = document.querySelector('.bottom .status')?.textContent ?? '';
      if (performance.now() - begin > 16 && !line.includes('reading')) {
        resolve(performance.now() - begin);
      } else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
