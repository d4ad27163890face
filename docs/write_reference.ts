/**
 * Writes the generated sections of `reference.md`, and checks all documents: `deno task docs`. Each
 * section is between two comments in the document; the rest is written by hand. With `--check`
 * nothing is written, and a section that is not up to date is a failure.
 */
import { EXIT_CODES } from "../src/app/exit_codes.ts";
import { ENVIRONMENT_VARIABLES } from "../src/app/environment.ts";
import { OUTPUT_FORMAT_LIST } from "../src/app/outputs/output_formats.ts";
import { type Command, COMMAND_NAMES, COMMANDS } from "../src/app/options/commands.ts";
import { defaultOf, groupsOf, usageOf } from "../src/cli/options/help_text.ts";
import { dashed, type Option } from "../src/app/options/option.ts";
import { optionsOf } from "../src/app/options/option_table.ts";
import { textFor } from "../src/app/options/protocol_help.ts";
import { JSON_RESULTS } from "../src/cli/term/json_results.ts";
import { GEOIP_FIELDS } from "../src/app/geoip/geoip_fields.ts";
import { type Field, FIELDS } from "../src/core/record.ts";
import { documentedFlags } from "../src/protocols/documented_flags.ts";
import { STATE_FIELDS } from "../src/store/queries/stored_fields.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";

/** The document. */
export const REFERENCE = new URL("reference.md", import.meta.url);

/** The guides to commands, by command. */
const GUIDES: Partial<Readonly<Record<Command, string>>> = {
  scan: "scanning",
  lan: "lan",
  watch: "watching",
  crawl: "crawling",
  servers: "databases",
  serve: "dashboard",
  report: "dashboard",
};

/** Options that every command has: they are listed once. */
const COMMON = new Set(["help", "version"]);

/** A table as `deno fmt` formats it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => [...row[i]].length)));
  const lines = cells.map((row) =>
    `| ${row.map((cell, i) => cell + " ".repeat(widths[i] - [...cell].length)).join(" | ")} |`
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

const code = (text: string) => `\`${text}\``;

function columnTable(fields: readonly Field[]): string {
  return table(
    ["Column", "Type", "Meaning"],
    fields.map(({ name, type, nullable, meaning }) => [
      code(name),
      type + (nullable ? "" : ", always"),
      meaning,
    ]),
  );
}

function commandTable(): string {
  return table(
    ["Command", "Purpose", "Guide"],
    COMMAND_NAMES.map((name) => {
      const guide = GUIDES[name];
      const link = guide === undefined ? "" : `[${guide}](guide/${guide}.md)`;
      return [`[${code(name)}](#${name.replace(" ", "-")})`, COMMANDS[name].purpose, link];
    }),
  );
}

/** The table cell of an option: its usage, and its aliases. */
function optionCell(option: Option): string {
  const aliases = (option.aliases ?? []).map((alias) => code(dashed(alias)));
  return code(usageOf(option)) + (aliases.length === 0 ? "" : `, ${aliases.join(", ")}`);
}

function optionSections(): string {
  return COMMAND_NAMES.flatMap((command) => {
    const { usage, note } = COMMANDS[command];
    const notes = note === undefined ? [] : [`\`\`\`text\n${textFor(note, PROTOCOLS)}\n\`\`\``];
    const rows = groupsOf(command).flatMap(({ options }) => options)
      .filter(({ name }) => !COMMON.has(name))
      .map((option) => [
        optionCell(option),
        textFor(option.help, PROTOCOLS),
        defaultOf(option, command, PROTOCOLS) ?? "",
      ]);
    const options = rows.length === 0 ? [] : [table(["Option", "Meaning", "Default"], rows)];
    return [`### ${command}`, `Usage: ${code(usage)}`, ...options, ...notes];
  }).join("\n\n");
}

/** The list of the options for which a resumed scan may get new values. */
function resumeList(): string {
  return optionsOf("scan").filter(({ onResume }) => onResume === "free")
    .map(({ name }) => `- ${code(dashed(name))}`).join("\n");
}

function formatTable(): string {
  const formats = OUTPUT_FORMAT_LIST.map(([name, { suffixes, option, content }]) => {
    const options = option === undefined ? [] : [dashed(option)];
    const chosenBy = [...suffixes.map((suffix) => `.${suffix}`), ...options];
    return [code(name), chosenBy.map(code).join(", "), content];
  });
  const databases = [".db", ".sqlite", "sqlite:FILE", "postgres://..."].map(code).join(", ");
  return table(["Format", "Suffix, option", "Content"], [
    ...formats,
    ["a database", databases, "[SQLite or PostgreSQL](guide/databases.md)"],
  ]);
}

/** The generated sections, by the names in the comments around them. */
export const SECTIONS: Readonly<Record<string, () => string>> = {
  "commands": commandTable,
  "options": optionSections,
  "options that a resumed scan takes": resumeList,
  "exit codes": () =>
    table(
      ["Code", "Meaning", "Cases"],
      EXIT_CODES.map((one) => [`${one.code}`, one.meaning, one.cases]),
    ),
  "JSON results": () =>
    table(
      ["Command", "Key", "Meaning"],
      Object.entries(JSON_RESULTS).flatMap(([name, keys]) =>
        Object.entries(keys).map(([key, meaning]) => [code(name), code(key), meaning])
      ),
    ),
  "formats": formatTable,
  "columns": () => columnTable(FIELDS),
  "columns of databases": () => columnTable([...STATE_FIELDS, ...GEOIP_FIELDS]),
  "flags": () =>
    table(
      ["Flag", "Protocol", "Meaning"],
      documentedFlags().map(({ name, setBy, isOfVerify, meaning }) => [
        code(name),
        isOfVerify ? `${setBy}, ${code("--verify")}` : setBy,
        meaning,
      ]),
    ),
  "environment": () =>
    table(
      ["Variable", "Meaning"],
      Object.entries(ENVIRONMENT_VARIABLES).map(([name, meaning]) => [code(name), meaning]),
    ),
};

/**
 * Returns the document with its generated sections up to date.
 *
 * @throws Error for a section that the document lacks, or that nothing generates.
 */
export function withSections(document: string): string {
  const written = new Set<string>();
  const text = document.replace(
    /^<!-- generated: (.*?) -->\n[^]*?^<!-- end -->$/gm,
    (_, name: string) => {
      const section = SECTIONS[name];
      if (section === undefined) throw new Error(`nothing generates the section "${name}"`);
      written.add(name);
      return `<!-- generated: ${name} -->\n\n${section()}\n\n<!-- end -->`;
    },
  );
  const missing = Object.keys(SECTIONS).find((name) => !written.has(name));
  if (missing !== undefined) throw new Error(`the document lacks the section "${missing}"`);
  return text;
}

if (import.meta.main) {
  const wrong = Deno.args.find((arg) => arg !== "--check");
  if (wrong !== undefined) throw new Error(`unknown argument ${wrong}: there is only --check`);
  if (Deno.args.length === 0) {
    await Deno.writeTextFile(REFERENCE, withSections(await Deno.readTextFile(REFERENCE)));
  }
  const { code } = await new Deno.Command("deno", {
    args: ["test", "--no-check", "--no-prompt", "--allow-read=.", "tests/docs_test.ts"],
    cwd: new URL("..", REFERENCE),
  }).spawn().status;
  Deno.exitCode = code;
}
