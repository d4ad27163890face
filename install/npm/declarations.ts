/** The types of the library: a declaration file for each source whose types its modules use. */
import ts from "typescript";
import { LIBRARY, NODE_ENTRY, ROOT, writePackageFile } from "./project.ts";

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

/** The sources whose types programs import, by path without suffix. */
const ENTRIES: readonly string[] = [...LIBRARY.map(({ path }) => path), NODE_ENTRY];

/** The declaration files of all sources that the modules load, by path without suffix. */
function declarations(): Map<string, string> {
  const root = ROOT.pathname;
  const program = ts.createProgram(ENTRIES.map((path) => `${root}${path}.ts`), OPTIONS);
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

/** What the declaration file of the module for Node consists of: names by the source that declares them. */
const NODE_TYPES: Readonly<Record<string, readonly string[]>> = {
  "src/library/common_options": ["CommonOptions", "InquiryOptions"],
  "src/library/query_host": ["QueryOptions"],
  "src/library/node_query": ["queryWithNode"],
};
/** The option whose type needs Deno's types, and which only `blocksweep/testing` has a value for. */
const DENO_OPTION = /\n {4}\/\*\*(?:(?!\*\/)[^])*\*\/\n {4}readonly network\?: Network;/;

/**
 * The declaration file of the module for Node. It contains the declarations of options itself, because their
 * files name types of Deno.
 */
function nodeDeclaration(texts: ReadonlyMap<string, string>): string {
  const own = Object.entries(NODE_TYPES).flatMap(([path, names]) => {
    const source = ts.createSourceFile(path, texts.get(path)!, ts.ScriptTarget.ESNext, true);
    return names.map((name) => {
      const declared = source.statements.find((one) =>
        (ts.isInterfaceDeclaration(one) || ts.isFunctionDeclaration(one)) && one.name?.text === name
      );
      if (declared === undefined) throw new Error(`${path}.ts does not declare ${name}`);
      return declared.getFullText().trim().replace(name, name === "queryWithNode" ? "query" : name);
    });
  });
  const all = own.join("\n");
  if (!DENO_OPTION.test(all)) throw new Error("the option network is not declared as expected");
  const others = texts.get(NODE_ENTRY)!.split("\n").filter((line) => !line.includes("/library/"));
  return `import type { ServerRecord } from "../core/record.ts";\n${others.join("\n")}` +
    `${all.replace(DENO_OPTION, "")}\n`;
}

/** Writes the declaration files into `types/`. */
export async function writeDeclarations(): Promise<void> {
  const texts = declarations();
  texts.set(NODE_ENTRY, nodeDeclaration(texts));
  const paths = new Set(ENTRIES);
  for (const path of paths) {
    const text = texts.get(path)!;
    for (const [, , specifier] of text.matchAll(SPECIFIER)) {
      paths.add(new URL(specifier, new URL(path, ROOT)).href.slice(ROOT.href.length));
    }
    await writePackageFile(`types/${path}.d.ts`, text.replace(SPECIFIER, '$1"$2.js"'));
  }
}
