// Once charts are drawn: for tests, and for whoever wonders.
requestAnimationFrame(() => requestAnimationFrame(() => {
                        document.documentElement.dataset.ready = Math.round(performance.now());
                      }));
