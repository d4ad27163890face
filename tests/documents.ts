/** Markdown documents of the repository: their links, their commands, and the paths that they name. */

/** A Markdown document. */
export interface Document {
  /** The path of the document in the repository. */
  readonly path: string;
  /** The text of the document. */
  readonly text: string;
}

const ROOT = new URL("../", import.meta.url);

/** The documents at the root, in docs/ and in docs/guide/. */
export async function readDocuments(): Promise<Document[]> {
  const documents: Document[] = [];
  for (const folder of ["", "docs/", "docs/guide/"]) {
    for await (const { name } of Deno.readDir(new URL(folder, ROOT))) {
      if (!name.endsWith(".md")) continue;
      const path = folder + name;
      documents.push({ path, text: await Deno.readTextFile(new URL(path, ROOT)) });
    }
  }
  return documents.sort((a, b) => a.path < b.path ? -1 : 1);
}

/** The texts of all sources below a folder of the repository. */
export async function readSources(folder: string): Promise<string[]> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) texts.push(...await readSources(`${folder}${name}/`));
    else if (name.endsWith(".ts")) {
      texts.push(await Deno.readTextFile(new URL(folder + name, ROOT)));
    }
  }
  return texts;
}

/** Whether a file or folder of the repository exists. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(new URL(path, ROOT));
    return true;
  } catch {
    return false;
  }
}

const FENCED = /^ *```(\w*)\n([\s\S]*?)^ *```/gm;
const INLINE = /`([^`]+)`/g;

/** Targets of the links in a document. */
export function linksIn(text: string): string[] {
  return [...text.replace(FENCED, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
}

/** The anchors of a document's headings, in the form of code hosting sites. */
export function anchorsIn(text: string): string[] {
  const headings = text.replace(FENCED, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading]) =>
    heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}

/** The code spans in the text outside of blocks, with their lines joined. */
export function spansIn(text: string): string[] {
  return [...text.replace(FENCED, "").matchAll(INLINE)].map(([, span]) =>
    span.replace(/\s*\n\s*/g, " ")
  );
}

const PATH = /^(?:src|tests|bench|data|docs|examples|std|\.ci)\/[\w.\/-]*$/;

/** The paths of the repository in code spans. Paths with a placeholder in capitals are omitted. */
export function pathsIn(text: string): string[] {
  return spansIn(text).filter((span) => PATH.test(span) && !/[A-Z]{4}/.test(span));
}

/** The commands in shell blocks and in code spans, each split into words. */
export function commandsIn(text: string): string[][] {
  const blocks = [...text.matchAll(FENCED)].filter(([, language]) => language === "sh")
    .flatMap(([, , block]) => block.replace(/\\\n\s*/g, "").split("\n"));
  return [...blocks, ...spansIn(text)].flatMap(splitCommands)
    .map((words) => words[0] === "npx" ? ["deno", ...words.slice(3)] : words)
    .filter(([program, word]) => ["deno", "blocksweep"].includes(program) && word !== undefined);
}

/** The commands of one line. A quoted text is one word. Comments and redirections are omitted. */
function splitCommands(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [word] of line.matchAll(/"[^"]*"|'[^']*'|[^\s"']+/g)) {
    if (word.startsWith("#")) break;
    if (/^(?:\||&&|;)$/.test(word)) commands.push([]);
    else commands.at(-1)!.push(word.replace(/^["']|["']$/g, "").replace(/;$/, ""));
    if (word.endsWith(";") && word !== ";") commands.push([]);
  }
  return commands.map((words) => {
    const end = words.findIndex((word) => /^[<>]/.test(word));
    return end < 0 ? words : words.slice(0, end);
  });
}
