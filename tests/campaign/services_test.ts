/** The units of campaigns in data/systemd: their command lines run with the permissions that they name. */
import { assertEquals } from "@std/assert";
import { natsTest, until } from "./nats_server.ts";
import { type Secured, startSecured, type User } from "./secured_server.ts";
import { run, SCAN } from "../cli/program.ts";

const ROOT = new URL("../../", import.meta.url);

/** The words of a unit's ExecStart=, with folders of the test in place of those of systemd. */
async function commandOf(unit: string, folder: string, values: Record<string, string>) {
  const text = await Deno.readTextFile(new URL(`data/systemd/${unit}.service`, ROOT));
  const [, line] = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(text)!;
  const places: Record<string, string> = {
    "/usr/local/bin/deno": "deno",
    "/opt/blocksweep": ROOT.pathname.replace(/\/$/, ""),
    "/etc/blocksweep": `${folder}/etc`,
    "%d": `${folder}/credentials`,
    "%S": `${folder}/state`,
    ...values,
  };
  return Object.entries(places)
    .reduce((words, [place, value]) => words.replaceAll(place, value), line)
    .replaceAll("\\\n", " ").split(/\s+/).filter((word) => word !== "");
}

/** Starts the command line of a unit as systemd does. */
async function startUnit(secured: Secured, unit: string, user: "worker" | "collector") {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-unit-" });
  for (const name of ["etc", "credentials", `state/${unit}`]) {
    await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  }
  await Deno.writeTextFile(`${folder}/credentials/nats.url`, `${secured.url(user)}\n`);
  await Deno.copyFile(secured.natsCa, `${folder}/etc/ca.pem`);
  const database = `${folder}/state/${unit}/servers.db`;
  const [program, ...args] = await commandOf(unit, folder, {
    "${DATABASE}": database,
    "$OPTIONS": `--nats-ca ${folder}/etc/ca.pem`,
  });
  const child = new Deno.Command(program, {
    args,
    cwd: ROOT,
    env: { XDG_CONFIG_HOME: `${folder}/state/${unit}`, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let printed = "";
  const read = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) printed += text;
  })();
  return {
    database,
    printed: () => printed,
    async stop() {
      child.kill("SIGINT");
      const [{ code }] = await Promise.all([child.status, read]);
      return code;
    },
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGKILL");
      } catch {
        // it has ended
      }
      await Promise.all([child.status, read]);
      await Deno.remove(folder, { recursive: true });
    },
  };
}

natsTest("the services scan a campaign and write it into a database", async () => {
  await using secured = await startSecured();
  const campaign = async (user: User, ...words: string[]) => {
    const access = ["--nats", secured.url(user), "--nats-ca", secured.natsCa];
    return await run(["campaign", ...words, ...access], { permissions: SCAN });
  };
  const submitted = await campaign(
    "submitter",
    ...["submit", "127.1.0.0/23", "--name", "lab", "--parts", "2", "--protocol", "raknet"],
    ...["--retries", "0", "--cooldown", "0s"],
  );
  assertEquals(submitted.code, 0, submitted.stderr);
  await using worker = await startUnit(secured, "blocksweep-worker", "worker");
  await using collector = await startUnit(secured, "blocksweep-collector", "collector");
  await until(async () => {
    const { stdout } = await campaign("watcher", "status", "lab", "--json");
    const { parts, collectors } = JSON.parse(stdout);
    const isWritten = collectors.length === 1 && collectors[0].pending === 0 &&
      collectors[0].unacknowledged === 0; // the results stay in NATS
    return parts.done === 2 && isWritten && collector.printed().includes("campaign lab: finished");
  });
  assertEquals([await worker.stop(), await collector.stop()], [130, 130]); // ended by SIGINT
  assertEquals(secured.server.log.filter((line) => line.includes("Violation")), []);
  const { stdout } = await run(["scans", collector.database, "--json"], {
    permissions: ["--allow-read", "--allow-env"],
  });
  assertEquals(JSON.parse(stdout).state, "finished");
});
