/**
 * The files that pages load: style, mark and scripts.
 *
 * @module
 */
import { stripTypeScriptTypes } from "node:module";
import mark from "./style/mark.svg" with { type: "text" };
import style from "./style/style.css" with { type: "text" };
import map from "./browser/map.ts" with { type: "text" };

/** A file that pages load from the folder of {@linkcode PageContext.assets}. */
export interface ClientFile {
  readonly name: string;
  readonly contentType: string;
  readonly body: string;
}

/** The modules for browsers as TypeScript, by name. */
const MODULES: Readonly<Record<string, string>> = { map };

/** Builds the files. Modules lose their types, and import one another as `.js`. */
export function clientFiles(): ClientFile[] {
  return [
    { name: "style.css", contentType: "text/css; charset=utf-8", body: style },
    { name: "mark.svg", contentType: "image/svg+xml", body: mark },
    ...Object.entries(MODULES).map(([name, text]) => ({
      name: `${name}.js`,
      contentType: "text/javascript; charset=utf-8",
      body: stripTypeScriptTypes(text).replace(/(from "\.\/\w+)\.ts"/g, '$1.js"'),
    })),
  ];
}
