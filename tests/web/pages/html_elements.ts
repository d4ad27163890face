/** Reads the elements of HTML that pages write. */

/** An element of a page. */
export interface HtmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Elements without an end tag in HTML. */
const VOID = ["meta", "link", "img", "input", "br"];
const TAG = /<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][\w:-]*(?:="[^"<>]*")?)*)\s*(\/?)>/y;

/**
 * The elements of a document in their order. It is stricter than browsers are.
 *
 * @throws Error for a `<` that begins no tag, for an attribute without quotes, and for tags that are not
 *     nested.
 */
export function elementsOf(html: string): HtmlElement[] {
  const body = html.replace(/^<!doctype html>\n/, "");
  const found: HtmlElement[] = [];
  const open: string[] = [];
  for (let at = 0; (at = body.indexOf("<", at)) >= 0;) {
    TAG.lastIndex = at;
    const match = TAG.exec(body);
    if (match === null) throw new Error(`No tag: ${body.slice(at, at + 80)}`);
    const [all, end, name, attributes, closed] = match;
    at += all.length;
    if (end === "/") {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> ends <${last}>`);
      continue;
    }
    const pairs = [...attributes.matchAll(/([a-zA-Z][\w:-]*)(?:="([^"]*)")?/g)];
    found.push({ name, attributes: new Map(pairs.map(([, key, value]) => [key, value ?? ""])) });
    if (closed === "" && !VOID.includes(name)) open.push(name);
  }
  if (open.length > 0) throw new Error(`No end: ${open}`);
  return found;
}
