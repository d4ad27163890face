/** Real shells load the output of `completions`, and complete with it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { debianTest, requireProgram } from "./debian.ts";
import { blocksweep, run } from "./processes.ts";

/** A folder with the script of a shell, and a file whose name has a space. */
async function inFolder(
  shell: string,
  file: string,
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/${file}`, await run(blocksweep("completions", shell)));
    await Deno.writeTextFile(`${folder}/my *.ndjson`, "");
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The completions of bash for the last word of a line. */
async function bashOffers(folder: string, before: string, words: string[]): Promise<string[]> {
  const script = `cd "$1"; source ./script; ${before}; shift; COMP_WORDS=("$@"); ` +
    `COMP_CWORD=$(($# - 1)); _blocksweep; for one in "\${COMPREPLY[@]}"; do echo "$one"; done`;
  const args = ["--norc", "-c", script, "bash", folder, "blocksweep", ...words];
  return (await run({ command: "bash", args })).split("\n").slice(0, -1);
}

Deno.test("bash completes commands, options and files", () =>
  inFolder("bash", "script", async (folder) => {
    assertEquals(await bashOffers(folder, ":", ["sc"]), ["scan", "scans", "schema"]);
    assertEquals(await bashOffers(folder, ":", ["scan", "--ra"]), ["--rate"]);
    assertEquals(await bashOffers(folder, ":", ["completions", "z"]), ["zsh"]);
    assertEquals(await bashOffers(folder, ":", ["campaign", "li"]), ["list"]);
    assertEquals(await bashOffers(folder, ":", ["campaign", "list", "--js"]), ["--json"]);
    assertEquals(await bashOffers(folder, ":", ["opt-out", "re"]), ["remove"]);
    assertEquals(await bashOffers(folder, ":", ["opt-out", "list", "--ra"]), ["--ranges"]);
    assertEquals(await bashOffers(folder, ":", ["campaign", "list", "--nats-ca", "my"]), [
      "my *.ndjson",
    ]);
    for (const option of ["-o", "-oD", "-iL", "--config", "--blocklist-file"]) {
      assertEquals(await bashOffers(folder, ":", ["scan", option, "my"]), ["my *.ndjson"]);
    }
    const offers = async (...words: string[]) => (await bashOffers(folder, ":", words)).join(" ");
    assertEquals(await offers("scan", "--protocol", ""), "raknet nethernet slp query sqp");
    assertEquals(await offers("watch", "--protocol", "raknet,s"), "raknet,slp raknet,sqp");
    assertEquals(await offers("scan", "--engine", "=", "x"), "xdp"); // as bash splits --engine=x
    assertEquals(await offers("scan", "--engine", "="), "portable udp packet xdp fastest");
    assertEquals(await offers("servers", "--format", "t"), "table");
    assertEquals(await offers("export", "--sort", "c"), "changed changed-reversed");
    assertEquals(await offers("servers", "-f", "host,po"), "host,port host,port_v4 host,port_v6");
    for (
      const command of [
        "servers",
        "export",
        "history",
        "scans",
        "serve",
        "import",
        "prune",
        "watch",
        "crawl",
      ]
    ) {
      assertEquals(await offers(command, "my"), "my *.ndjson", command);
    }
    assertEquals(await offers("watch", "-o", "my"), "my *.ndjson");
    assertEquals(await offers("scan", "my"), ""); // the arguments of the command are addresses
    assertEquals(await offers("scan", "--rate", ""), "");
    const old = "enable -n compopt"; // bash 3.2 does not quote names
    assertEquals(await bashOffers(folder, old, ["scan", "-o", "my"]), ["my\\ \\*.ndjson"]);
  }));

const ZSH = "/usr/bin/zsh";

/** Types lines into a zsh with a terminal. Returns the commands that zsh ran. */
async function zshRuns(folder: string, setup: string, lines: string[]): Promise<string[]> {
  const script = `zmodload zsh/zpty; zpty shell ${ZSH} -f -i; zpty -w shell "source $1/setup"; ` +
    'shift; for line; do zpty -w shell "$line"; zpty -r shell out "*RAN *END*"; print -r -- "$out"; done';
  await Deno.writeTextFile(
    `${folder}/setup`,
    `cd ${folder}; ${setup}; blocksweep() { print -r -- RAN \${(j:|:)@} END }`,
  );
  const args = ["-f", "-c", script, "zsh", folder, ...lines];
  const env = { HOME: folder, ZDOTDIR: folder, TERM: "dumb" };
  const text = await run({ command: ZSH, args, env });
  return [...text.matchAll(/RAN (.*) END/g)].map(([, words]) => words);
}

for (
  const [name, setup] of [
    ["sourced, where completion was not set up", "source ./_blocksweep"],
    ["found in $fpath", "fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u"],
  ]
) {
  debianTest(`zsh completes options and files, from the first time on: ${name}`, async () => {
    await requireProgram(ZSH);
    await inFolder("zsh", "_blocksweep", async (folder) => {
      const lines = [
        "scan --ra\t5",
        "scan 10.0.0.1 --from \t1:2 --max-ru\t5s",
        "scan -o m\t",
        "que\th",
        "scan --protocol rak\t 10.0.0.1",
        "scan --protocol raknet,que\t 10.0.0.1",
        "scan --engine po\tx",
        "servers --format nd\tx",
        "export --sort changed-\tx",
        "servers m\tx",
        "watch -o m\tx",
        "scan m\tx",
        "campaign lis\t--js\tx",
        "campaign list --nats-ca m\tx",
      ];
      const ran = await zshRuns(folder, setup, lines.map((line) => `blocksweep ${line}`));
      assertEquals(ran, [
        "scan|--rate|5",
        "scan|10.0.0.1|--from|1:2|--max-runtime|5s",
        "scan|-o|my *.ndjson",
        "query|h",
        ...["scan|--protocol|raknet|10.0.0.1", "scan|--protocol|raknet,query|10.0.0.1"],
        ...[
          "scan|--engine|portable|x",
          "servers|--format|ndjson|x",
          "export|--sort|changed-reversed|x",
        ],
        ...["servers|my *.ndjson|x", "watch|-o|my *.ndjson|x", "scan|mx"],
        ...["campaign|list|--json|x", "campaign|list|--nats-ca|my *.ndjson|x"],
      ]);
    });
  });
}

const FISH = "/usr/bin/fish";

debianTest("fish completes commands, options and files", async () => {
  await requireProgram(FISH);
  await inFolder("fish", "script", async (folder) => {
    const offers = async (line: string) => {
      const script = `cd ${folder}; source ./script; complete -C 'blocksweep ${line}'`;
      return await run({ command: FISH, args: ["--no-config", "-c", script] });
    };
    assertStringIncludes(await offers("sc"), "scan\tfind game servers");
    assertStringIncludes(await offers("scan --ra"), "--rate\tmaximum packets per second");
    assertEquals(await offers("scan --config m"), "my *.ndjson\n");
    assertEquals(await offers("completions z"), "zsh\n");
    assertStringIncludes(await offers("campaign li"), "list\tlist the campaigns");
    assertEquals(await offers("campaign list li"), "");
    assertStringIncludes(await offers("campaign list --js"), "--json\tprint one");
    assertEquals(await offers("campaign list --nats-ca m"), "my *.ndjson\n");
    const values = async (line: string) =>
      (await offers(line)).split("\n").map((one) => one.split("\t")[0]).join(" ").trim();
    assertEquals(await values("scan --protocol s"), "slp sqp");
    assertEquals(await values("watch --protocol raknet,q"), "raknet,query");
    assertEquals(await values("scan --protocol=raknet,q"), "--protocol=raknet,query");
    assertEquals(await values("scan --engine p"), "packet portable");
    assertEquals(await values("servers --format t"), "table");
    assertEquals(await values("export --sort c"), "changed changed-reversed");
    assertEquals(await values("scan --rate m"), "");
    for (
      const command of [
        "servers",
        "export",
        "history",
        "scans",
        "serve",
        "import",
        "prune",
        "watch",
        "watch -o",
      ]
    ) {
      assertEquals(await offers(`${command} m`), "my *.ndjson\n", command);
    }
    assertEquals(await offers("scan m"), "");
  });
});
