/** Texts of servers on their way to a terminal, a page, a table or a metric. */
import { prometheusText } from "../../../src/app/metrics/prometheus_text.ts";
import { Malformed } from "../../../src/core/bytes.ts";
import {
  formatAnsi,
  formatHtml,
  formatPlain,
  formatSections,
  parseComponent,
  parseFormatted,
  type TextRun,
} from "../../../src/core/formatted/mod.ts";
import { redactUrl } from "../../../src/core/redact.ts";
import { decodeField, harmlessText, oneLine, plainText } from "../../../src/core/text.ts";
import * as slp from "../../../src/protocols/slp/mod.ts";
import { formatPlugins, parsePlugins } from "../../../src/protocols/query/plugins.ts";
import { boundJson } from "../../../src/protocols/bounded_json.ts";
import { guardText, unguardText } from "../../../src/sinks/csv.ts";
import { chooseService, unusableServices } from "../../../src/targets/srv.ts";
import { GOLDEN } from "../../golden/mod.ts";
import {
  BrokenRule,
  refusal,
  requireHarmless,
  requireSame,
  seedsOf,
  type Subject,
  textReader,
} from "../subject.ts";

const MOTDS = [
  "§aA §lMinecraft§r Server",
  "§x§1§2§3§4§5§6Hex §#aabbcctext§kobf",
  "A\u0000\u001b[31m\u202eB\u2028 ",
  "e\u0301\u0301\u0301\u0301\u0301\u0301 🎮\ufe0f \u3164",
  "=1+2 <script>&amp;\"'</script>",
];
// deno-lint-ignore no-control-regex
const STYLES = /\x1b\[[\d;]*m/g;

/** Requires that HTML consists of spans and text. */
function requirePlainHtml(html: string): void {
  const text = html.replace(/<bdi class="mc">|<span class="[\w -]*">|<\/(?:span|bdi)>/g, "");
  if (/[<>"']|&(?!#?\w+;)/.test(text)) throw new BrokenRule(`HTML is not escaped: ${html}`);
}

function checkRuns(runs: readonly TextRun[]): void {
  formatPlain(runs);
  for (const depth of ["256", "true", "none"] as const) {
    requireHarmless(formatAnsi(runs, depth).replace(STYLES, ""), "text for a terminal");
  }
  requirePlainHtml(formatHtml(runs));
  formatSections(runs);
}

/** The JSON texts of statuses in the golden messages. */
const STATUSES = GOLDEN.filter(({ decoder, throws }) => decoder === "slpResponse" && !throws)
  .flatMap(({ bytes }) => slp.decodeStatusResponse(bytes)?.json ?? []);

const statusJson: Subject = {
  name: "statusJson",
  from: "a host",
  seeds: STATUSES,
  check(bytes) {
    let status: ReturnType<typeof slp.parseStatus>;
    try {
      status = slp.parseStatus(bytes);
    } catch (error) {
      return refusal(error, [Malformed]);
    }
    const { json } = boundJson(new TextDecoder().decode(bytes));
    if (json.length > bytes.length + 2) {
      throw new BrokenRule("bounded JSON is longer than the text");
    }
    return status.kind === "disconnect" ? "+disconnect" : `+${status.flags?.join()}`;
  },
};

/** The readers of texts. */
export const TEXT_SUBJECTS: readonly Subject[] = [
  statusJson,
  textReader("formatted", "a host", MOTDS, (text) => {
    for (const dialect of ["java", "bedrock"] as const) {
      const runs = parseFormatted(text, { dialect });
      checkRuns(runs);
      requireSame(
        formatPlain(runs),
        formatPlain(parseFormatted(formatSections(runs), { dialect })),
        "the text in section signs",
      );
    }
    return "";
  }),
  textReader(
    "component",
    "a host",
    ['{"text":"a","extra":["b",{"color":"#12345g","bold":true}]}', '["a",[[{"translate":"x"}]]]'],
    (text) => {
      const { runs } = parseComponent(JSON.parse(text));
      checkRuns(runs);
      return `${runs.length > 4}`;
    },
    SyntaxError,
  ),
  textReader("escapedText", "a host", MOTDS, (text) => {
    requireHarmless(oneLine(text), "one line");
    requireHarmless(harmlessText(text), "text for a terminal");
    requireHarmless(plainText(text), "plain text");
    const cell = guardText(text);
    if (/^[\s\u200b]*[=+\-@＝＋－＠]/.test(cell)) {
      throw new BrokenRule(`a cell is a formula: ${cell}`);
    }
    requireSame(oneLine(text), unguardText(cell), "the text of a cell");
    const labels = { server: text };
    const samples = [{ value: 1, labels }];
    const [, , line, ...rest] = prometheusText([{ name: "up", help: "h", type: "gauge", samples }])
      .split("\n");
    if (!/^up\{server="(?:[^"\\\n]|\\["\\n])*"\} 1$/.test(line) || rest.join() !== "") {
      throw new BrokenRule(`a label is not escaped: ${line}`);
    }
    return "";
  }),
  {
    name: "field",
    from: "a host",
    seeds: [...seedsOf(...MOTDS), Uint8Array.of(0xa7, 0x61, 0xff)],
    check(bytes) {
      return `+${decodeField(bytes).length === bytes.length}`;
    },
  },
  textReader(
    "plugins",
    "a host",
    ["Paper on 1.20.4-R0.1-SNAPSHOT: World Edit 7.3.0; Vault", "A (MC: 1): B", "Velocity:"],
    (text) => {
      const list = parsePlugins(text);
      requireSame(list, parsePlugins(formatPlugins(list)), "the list of plugins");
      return `${list.plugins === null}`;
    },
  ),
  textReader("packedMods", "a host", ["\u0001\u0000\u0001\u0007forge", packedMods()], (text) => {
    const { cut, mods } = slp.decodePacked(text);
    return `${cut} ${mods.length > 0}`;
  }),
  textReader(
    "serviceRecords",
    "DNS",
    [
      '[{"priority":5,"weight":60,"port":25570,"target":"Play.example.org."}]',
      '[{"priority":5,"weight":60,"port":0,"target":"."},{"priority":1,"weight":1,"port":9,"target":"a b"}]',
    ],
    (text) => {
      const value: unknown = JSON.parse(text);
      // The runtime checks the types of records. Texts of DNS contain any bytes.
      const records = (Array.isArray(value) ? value : []).flatMap((one) => ({
        ...{
          priority: Number(one?.priority),
          weight: Number(one?.weight),
          port: Number(one?.port),
        },
        target: String(one?.target),
      }));
      for (const line of unusableServices("play.example", records)) {
        requireHarmless(line, "a message");
      }
      const service = chooseService(records);
      if (service !== undefined) requireHarmless(service.host, "the host of a service");
      return service && "";
    },
    SyntaxError,
    TypeError, // an object that cannot be converted into a text
  ),
  textReader("redactedUrl", "a user", ["postgres://u:secret@h/db?password=x", "a@b"], (text) => {
    redactUrl(text);
    return "";
  }),
];

function packedMods(): string {
  const channels = [{ name: "a:b", version: "1", required: true }];
  return slp.encodePacked({
    truncated: false,
    mods: [{ id: "create", version: "0.5", channels }],
    channels,
  });
}
