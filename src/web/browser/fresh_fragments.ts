/** Fragments of a page that follow the database: the page is read again, and its new fragments replace the old. */

/** Whether a copy is being read. */
let isReading = false;

/**
 * Replaces the content of the elements that a selector matches by that of a new copy of this page. If
 * the copy has more or fewer of them, the page is loaded again. Does nothing while a copy is being read.
 */
export function replaceFragments(selector: string): void {
  const fragments = document.querySelectorAll(selector);
  if (fragments.length === 0 || isReading) return;
  isReading = true;
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.onload = () => {
    const fresh = request.responseXML?.querySelectorAll(selector) ?? [];
    if (request.status !== 200) return;
    if (fresh.length !== fragments.length) return location.reload();
    fragments.forEach((fragment, i) => {
      if (!fresh[i].isEqualNode(fragment)) fragment.replaceChildren(...fresh[i].childNodes);
    });
    document.dispatchEvent(new Event("fragments"));
  };
  request.onloadend = () => isReading = false;
  request.open("GET", location.href);
  request.send();
}
