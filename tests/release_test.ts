/** The release: what is compiled, the image, the list of packages, and the workflows. */
import { assert, assertEquals } from "@std/assert";
import { compileArguments } from "../install/compile.ts";
import { exists } from "./documents.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../${path}`, import.meta.url));
const { tasks, version } = JSON.parse(await read("deno.json"));
const WORKFLOWS = [
  await read(".github/workflows/ci.yml"),
  await read(".github/workflows/release.yml"),
];
const CONTAINERFILE = await read("Containerfile");

/** The permissions of the installed program. */
const GRANTED = tasks.install.command.match(/ --no-prompt --allow-net .*(?= main\.ts$)/)[0].trim()
  .split(" ");

/** The paths and texts of all sources. */
async function sources(folder = "src/"): Promise<[path: string, text: string][]> {
  const found: [string, string][] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(`../${folder}`, import.meta.url))
  ) {
    const path = folder + name;
    if (isDirectory) found.push(...await sources(`${path}/`));
    else if (/\.tsx?$/.test(name)) found.push([path, await read(path)]);
  }
  return found;
}

Deno.test("the compiled program contains all threads and packages, and has the installed one's permissions", async () => {
  const args = await compileArguments("aarch64-apple-darwin", "out");
  assertEquals(args.slice(-5), ["--target", "aarch64-apple-darwin", "--output", "out", "main.ts"]);
  assertEquals(args.filter((arg) => GRANTED.includes(arg)), GRANTED);
  const included = args.filter((_, i) => args[i - 1] === "--include");
  for (const path of included) assert(await exists(path), path);
  const texts = await sources();
  const threads = texts.filter(([, text]) => /new Worker\(/.test(text)).length;
  assert(threads > 2 && included.length > threads, `${included.length} of ${threads}`);
  const named = texts.flatMap(([path, text]) =>
    path.startsWith("src/web/") ? [] : [...text.matchAll(/"npm:([^"]+)"/g)].map(([, name]) => name)
  );
  const imported = [...(await read("install/compiled_packages.ts")).matchAll(/"npm:(.*)"/g)];
  assertEquals(imported.map(([, name]) => name).sort(), named.sort());
});

Deno.test("the program in the image has the installed one's permissions, and downloads nothing", () => {
  const command = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(CONTAINERFILE)![1]);
  assertEquals(command.filter((word: string) => GRANTED.includes(word)), GRANTED);
  assert(!command.includes("--allow-all") && command.includes("--cached-only"));
  const [last] = CONTAINERFILE.split("\nFROM ").slice(-1);
  assert(/^USER \d{4,}:\d{4,}$/m.test(last), "the last stage has no user");
});

Deno.test("workflows and image use the Deno of .ci/run", async () => {
  const [, pinned] = /deno@(\d+\.\d+\.\d+)/.exec(await read(".ci/run"))!;
  const named = [CONTAINERFILE, ...WORKFLOWS].flatMap((text) => [
    ...text.matchAll(/deno(?:@|:|:distroless-)(\d+\.\d+\.\d+)/g),
  ]);
  assert(named.length > 4);
  for (const [text, found] of named) assertEquals(found, pinned, text);
});

Deno.test("the workflows run existing tasks and files, and each job names its permissions", async () => {
  for (const text of WORKFLOWS) {
    for (const [, name] of text.matchAll(/deno task (?:--quiet )?([\w:]+)/g)) {
      assert(tasks[name], name);
    }
    for (const [, path] of text.matchAll(/run: (\.[\w./]+)$/gm)) assert(await exists(path), path);
  }
  const [, jobs] = WORKFLOWS[1].split("\njobs:\n");
  for (const job of jobs.split(/^ {2}(?=\w)/m).slice(1)) assert(job.includes("permissions:"), job);
  assert(/^permissions: \{\}$/m.test(WORKFLOWS[1]));
});

Deno.test("actions are pinned to commits, and jobs that sign run no install scripts and no tasks", () => {
  for (const [, action] of WORKFLOWS.join("\n").matchAll(/uses: (\w.*)$/gm)) {
    assert(/@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(action), action);
  }
  const [, jobs] = WORKFLOWS[1].split("\njobs:\n");
  const signing = jobs.split(/^ {2}(?=\w)/m).filter((job) => job.includes("id-token: write"));
  assertEquals(signing.map((job) => job.split(":")[0]), ["files", "npm", "jsr"]);
  for (const job of signing) {
    assert(!/npx|deno task/.test(job), job);
    const installing = job.split("\n").filter((line) => /npm (install|ci|publish)/.test(line));
    for (const line of installing) assert(line.includes("--ignore-scripts"), line);
  }
});

Deno.test("docs/releasing.md lists the actions of the workflows", async () => {
  const guide = await read("docs/releasing.md");
  const used = WORKFLOWS.flatMap((text) => [...text.matchAll(/uses: (\w[\w/-]+)@/g)]);
  assert(used.length > 3);
  for (const [, action] of used) assert(guide.includes(`\`${action}\``), action);
});

Deno.test("the list of packages has the program's packages with their checksums", async () => {
  const args = ["task", "--quiet", "sbom"];
  const cwd = new URL("../", import.meta.url);
  const { stdout } = await new Deno.Command("deno", { args, cwd }).output();
  const { metadata, components } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(metadata.component.version, version);
  const names = components.map(({ name }: { name: string }) => name);
  for (const name of ["pg", "pg-protocol", "hono", "deno-std"]) assert(names.includes(name), name);
  assert(!names.includes("fast-check"), "a package of tests");
  for (const { name, hashes } of components) assertEquals(hashes[0].content.length, 128, name);
});
