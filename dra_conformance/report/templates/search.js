// Hides the failures, rules and scenarios that lack one of the words of the search field.
(() => {
  const field = document.getElementById("search"), count = document.getElementById("found");
  const main = document.querySelector("main");
  const rows = [...main.querySelectorAll("details.failure, tr[id], details[id^=chapter-] tbody tr")];
  const folds = [...main.querySelectorAll("details:not(.failure, .in)")]
    .filter(one => !one.closest(".failure") && one.querySelector("tbody tr"));
  let texts = null, open = null;
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean), searches = words.length > 0;
    texts ??= rows.map(row => row.textContent.toLowerCase());
    let found = 0;
    rows.forEach((row, number) => {
      row.hidden = !words.every(word => texts[number].includes(word));
      found += !row.hidden;
    });
    if (searches) open ??= folds.map(fold => fold.open);
    folds.forEach((fold, number) => {
      const has = fold.querySelector("tbody tr:not([hidden])") !== null;
      fold.hidden = searches && !has;
      fold.open = searches ? has : open ? open[number] : fold.open;
    });
    if (!searches) open = null;
    count.textContent = searches ? `${found} found` : "";
  };
  field.hidden = false;
  field.addEventListener("input", show);
  addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
    }
  });
  // A link to a part that the search hides shows all again.
  addEventListener("hashchange", () => {
    if (document.querySelector(":target")?.closest("[hidden]")) {
      field.value = "";
      show();
      document.querySelector(":target").scrollIntoView();
    }
  });
})();
