/**
 * Parsers of Discord's and Slack's markup: `message_parsers.ts FILE` reads a JSON list of
 * `{ discord, slack }`, and prints a JSON list of the parsed trees.
 */
// deno-lint-ignore-file no-console
// Not literals, because only the configuration of this folder has these packages.
const names = ["discord-markdown-parser", "slack-message-parser"];
const [{ parse: parseDiscord }, { parse: parseSlack, NodeType }] = await Promise.all(
  names.map((name) => import(name)),
);

interface Message {
  readonly discord: string;
  readonly slack: string;
}

/** A node with the name of its type, in place of a number. */
interface Node {
  readonly type: string;
  readonly children: readonly Node[];
}

function withNames({ type, children = [] }: { type: number; children?: never[] }): Node {
  return { type: NodeType[type], children: children.map(withNames) };
}

const messages: readonly Message[] = JSON.parse(await Deno.readTextFile(Deno.args[0]));
const trees = messages.map((message) => ({
  discord: parseDiscord(message.discord, "extended"),
  slack: withNames(parseSlack(message.slack)),
}));
console.log(JSON.stringify(trees));
