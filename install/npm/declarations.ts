/** The types of the library: a declaration file for each source whose types its modules use. */
import ts from "typescript";
import { LIBRARY, ROOT, writePackageFile } from "./project.ts";

const OPTIONS: ts.CompilerOptions = {
  declaration: true,
  emitDeclarationOnly: true,
  stripInternal: true,
  allowImportingTsExtensions: true,
  resolveJsonModule: true,
  strict: true,
  noCheck: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.NodeNext,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts"],
  types: [],
};

/** The module specifier in an import, export or import type of a declaration file. */
const SPECIFIER = /(\bfrom |\bimport\()"(\.{1,2}\/[^"]+)\.tsx?"/g;

/** The declaration files of all sources that the modules load, by path without suffix. */
function declarations(): Map<string, string> {
  const root = ROOT.pathname;
  const program = ts.createProgram(LIBRARY.map(({ path }) => `${root}${path}.ts`), OPTIONS);
  const found = new Map<string, string>();
  const { diagnostics } = program.emit(undefined, (file, text) => {
    found.set(file.slice(root.length).replace(/\.d\.ts$/, ""), text);
  });
  const [fault] = diagnostics;
  if (fault === undefined) return found;
  throw new Error(
    `${fault.file?.fileName}: ${ts.flattenDiagnosticMessageText(fault.messageText, "\n")}`,
  );
}

/** Writes the declaration files into `types/`. */
export async function writeDeclarations(): Promise<void> {
  const texts = declarations();
  const paths = new Set(LIBRARY.map(({ path }) => path));
  for (const path of paths) {
    const text = texts.get(path)!;
    for (const [, , specifier] of text.matchAll(SPECIFIER)) {
      paths.add(new URL(specifier, new URL(path, ROOT)).href.slice(ROOT.href.length));
    }
    await writePackageFile(`types/${path}.d.ts`, text.replace(SPECIFIER, '$1"$2.js"'));
  }
}
