/**
 * The units in data/systemd: systemd accepts them, and the program accepts their command lines. The
 * command lines of campaigns run in tests/campaign/services_test.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { splitCommand } from "../../src/app/options/command_words.ts";
import type { Command } from "../../src/app/options/commands.ts";
import { readCommandLine } from "./command_line.ts";

const FOLDER = new URL("../../data/systemd/", import.meta.url);
const UNITS = [...Deno.readDirSync(FOLDER)].map(({ name }) => name).sort();
const textOf = (unit: string) => Deno.readTextFileSync(new URL(unit, FOLDER));

/** The values of the variables that the user sets, from the comments of the units. */
const GIVEN: Readonly<Record<string, string>> = {
  "${DATABASE}": "servers.db",
  "${BUDGET}": "100k/day",
};

/** The values that a unit's comments suggest for a variable that may have several words. */
function suggested(unit: string, variable: string): string[] {
  const suggestion = new RegExp(`^(?:# |Environment=")(?:.* )?${variable}=([^"\\n]*)`, "m");
  const [, words = ""] = suggestion.exec(textOf(unit)) ?? [];
  return words.split(" ").filter((word) => word !== "");
}

/** The words of each ExecStart= of a unit. */
function commandsOf(unit: string): string[][] {
  return [...textOf(unit).matchAll(/^ExecStart=((?:.*\\\n)*.*)$/gm)].map(([, line]) =>
    line.replaceAll("\\\n", " ").split(/\s+/).flatMap((word) =>
      word.startsWith("$") && !(word in GIVEN)
        ? suggested(unit, word.slice(1))
        : [(GIVEN[word] ?? word).replaceAll("%S", "/var/lib").replaceAll("%d", "/run/credentials")]
    )
  );
}

for (const unit of UNITS.filter((name) => name.endsWith(".service"))) {
  Deno.test(`the program accepts the command lines of ${unit}`, async () => {
    const commands = commandsOf(unit);
    assert(commands.length > 0);
    for (const words of commands) {
      const at = words.indexOf("main.ts");
      const [name, args] = splitCommand(words.slice(at + 1));
      readCommandLine(name as Command, args); // throws if an option does not exist
      const { options } = readCommandLine(name as "watch", args);
      assertEquals(options.logFormat, "json");
      const [, ...deno] = words.slice(0, at);
      const { success, stderr } = await new Deno.Command("deno", {
        args: [...deno.filter((word) => word !== "--cached-only"), "main.ts", "--version"],
        cwd: new URL("../../", import.meta.url),
      }).output();
      assert(success, new TextDecoder().decode(stderr));
    }
  });

  Deno.test(`the command of ${unit} may use its folder by both of its paths`, () => {
    for (const words of commandsOf(unit)) {
      for (
        const flag of words.filter((word) => /^--allow-(read|write)=.*\/lib\/blocksweep/.test(word))
      ) {
        assert(/,\/var\/lib\/private\/blocksweep/.test(flag), flag); // a dynamic user has a link
      }
    }
  });

  Deno.test(`${unit} reports its state if the command does`, () => {
    const text = textOf(unit);
    const isNotifying = text.includes("Type=notify");
    assertEquals(isNotifying, !text.includes("Type=oneshot"));
    for (const words of isNotifying ? commandsOf(unit) : []) {
      const named = (flag: string) => words.find((word) => word.startsWith(flag))!.split(/[=,]/);
      assert(named("--allow-write").includes("/run/systemd/notify"));
      assert(named("--allow-env").includes("NOTIFY_SOCKET"));
      assert(named("--allow-env").includes("WATCHDOG_USEC"));
      assert(words.includes("--allow-net")); // sockets of files need all of it
    }
  });
}

const systemd = new Deno.Command("sh", { args: ["-c", "systemd-analyze --version"] }).outputSync();

Deno.test({
  name: `systemd accepts the units${systemd.success ? "" : ": needs Debian's systemd"}`,
  ignore: !systemd.success,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "blocksweep-units-" });
    await using _removed = {
      [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
    };
    for (const unit of UNITS) {
      const text = textOf(unit).replaceAll("/usr/local/bin/deno", Deno.execPath());
      await Deno.writeTextFile(`${folder}/${unit}`, text);
    }
    const check = 'cd "$0"; systemd-analyze verify ./* && for unit in ./*.service; do ' +
      "systemd-analyze security --offline=yes --threshold=15 $unit || exit 1; done";
    const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", check, folder] })
      .output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertEquals([code, text(stderr)], [0, ""], text(stdout).slice(-500));
    // Other versions of systemd may rate other settings.
    const version = new TextDecoder().decode(systemd.stdout);
    for (const [, unit, level] of text(stdout).matchAll(/level for (\S+): (\S+)/g)) {
      if (/^systemd 252 /.test(version)) {
        assert(textOf(unit).includes(`systemd-analyze security (252): ${level}\n`), unit);
      }
    }
  },
});
