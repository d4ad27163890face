/**
 * Parsers of other projects for the markup of Discord and Slack read the messages of blocksweep:
 * the result must be plain text only, and equal to the text for ntfy, for any name of a server.
 */
import { assertEquals } from "@std/assert";
import { newReceiver, type Receiver } from "../../src/watch/webhook/receivers.ts";
import { Random } from "../../src/fleet/random.ts";
import { eachKind } from "../watch/webhook/events.ts";
import { peerScript, run } from "./processes.ts";

/** Pieces of names: markup, mentions, links, and what breaks lines. */
const PIECES = [
  ...["@everyone", "@here", "<@1>", "<@&1>", "<#1>", "<!channel>", "<!here|x>", "<:a:1>", "<t:1>"],
  ...["**b**", "*i*", "__u__", "_i_", "~~s~~", "||s||", "`c`", "```c```", "> q", ">>> q", "# h"],
  ...[
    "-# s",
    "- l",
    "* l",
    "1. l",
    "[a](https://e.example)",
    "<https://e.example|x>",
    "\\",
    "\\\\",
  ],
  ...["https://e.example", "http:/http:///e.example", "&lt;!here&gt;", "&amp;", "&", "<", ">", "|"],
  ...["\n", "\r\n", "§c", "\u202e", "Lobby", " ", "é", "🎮", "{name}", "</a:1>", "<id:home>"],
];

/** A node of a message for Discord. `twemoji` is an emoji in Unicode, and has it as its name. */
interface DiscordNode {
  readonly type: string;
  readonly content?: string;
  readonly name?: string;
}

/** A node of a message for Slack. */
interface SlackNode {
  readonly type: string;
  readonly children?: readonly SlackNode[];
}

const decoder = new TextDecoder();
const RECEIVERS = {
  discord: newReceiver("discord", "https://d.example/"),
  slack: newReceiver("slack", "https://s.example/"),
  ntfy: newReceiver("ntfy", "https://n.example/t"),
};

/**
 * The result of `<...>` in Slack. It does not parse `*bold*` and other markup if `mrkdwn` is false.
 */
const CONTROLS = ["ChannelLink", "UserLink", "URL", "Command"];

/** The types of all nodes of a message for Slack. */
function typesIn({ type, children = [] }: SlackNode): string[] {
  return [type, ...children.flatMap(typesIn)];
}

/** The text that Slack shows. */
function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

Deno.test("no name of a server is markup to parsers of Discord's and Slack's messages", async () => {
  const random = new Random(5);
  const pick = () => PIECES[random.below(PIECES.length)];
  const messages = Array.from({ length: 500 }, () => {
    const name = Array.from({ length: 1 + random.below(5) }, pick).join("");
    const events = [eachKind({ name })[random.below(6)]];
    const parsed = ({ body }: Receiver) => JSON.parse(decoder.decode(body(events)));
    return {
      name,
      discord: parsed(RECEIVERS.discord).content as string,
      slack: parsed(RECEIVERS.slack).text as string,
      ntfy: parsed(RECEIVERS.ntfy).message as string,
    };
  });
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, JSON.stringify(messages));
    const trees = JSON.parse(await run(peerScript("message_parsers.ts", file)));
    for (const [i, { name, discord, slack, ntfy }] of messages.entries()) {
      const nodes = trees[i].discord as readonly DiscordNode[];
      assertEquals(
        nodes.filter(({ type }) => !["text", "twemoji"].includes(type)),
        [],
        `${name}: ${discord}`,
      );
      assertEquals(nodes.map(({ content, name }) => content ?? name).join(""), ntfy, discord);
      const types = typesIn(trees[i].slack);
      assertEquals(types.filter((type) => CONTROLS.includes(type)), [], `${name}: ${slack}`);
      assertEquals(unescaped(slack), ntfy, slack);
    }
  } finally {
    await Deno.remove(file);
  }
});
