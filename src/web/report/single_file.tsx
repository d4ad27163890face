/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * An HTML document in one file: it loads nothing, and runs only its own scripts.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { raw } from "npm:hono@4.13.19/html";
import type { Child } from "npm:hono@4.13.19/jsx";
import mark from "../style/mark.svg" with { type: "text" };

/** The parts of a document. */
export interface SingleFile {
  readonly title: string;
  /** What stands at the right of the header. */
  readonly aside: string;
  readonly css: string;
  /** The scripts, in their order. Default: none. */
  readonly scripts?: readonly string[];
  readonly main: Child;
  /** What stands in the footer besides the note that the file is complete. */
  readonly footer?: Child;
  /** Data for the scripts. */
  readonly data?: Child;
}

export function singleFile(
  { title, aside, css, scripts = [], main, footer, data }: SingleFile,
): string {
  return "<!doctype html>\n" + String(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content={policyOf(css, scripts)} />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <title>{title}</title>
        <link rel="icon" href={MARK} />
        <style>{raw(css)}</style>
      </head>
      <body>
        <header class="top">
          <span class="brand">
            <img src={MARK} alt="" width="22" height="22" />
            blocksweep
          </span>
          <span class="database">{aside}</span>
        </header>
        <main id="content">{main}</main>
        <footer>
          <span>This file is complete: it loads nothing from other places.</span>
          {footer}
        </footer>
        {data}
        {scripts.map((code) => <script>{raw(code)}</script>)}
      </body>
    </html>,
  );
}

/** The mark as an image in the file. */
const MARK = `data:image/svg+xml;base64,${new TextEncoder().encode(mark).toBase64()}`;

/** The policy: nothing but this style, these scripts, and images in the file. */
function policyOf(css: string, scripts: readonly string[]): string {
  const hash = (text: string) =>
    `'sha256-${nodeCrypto().createHash("sha256").update(text).digest("base64")}'`;
  return [
    "default-src 'none'",
    ...scripts.length === 0 ? [] : [`script-src ${scripts.map(hash).join(" ")}`],
    `style-src ${hash(css)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}
