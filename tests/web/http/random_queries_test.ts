/** 10,000 random requests to src/web/http/dashboard.ts with a SQLite database: none gets a status 5xx. */
import { assert } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { ROUTES } from "../../../src/web/api/routes.ts";
import { ICON, SCAN_ID } from "../fake_data.ts";
import { withDatabase } from "../served_database.ts";
import { clientOf } from "./client.ts";
import { longTest } from "../../long.ts";

const REQUESTS = 10_000;

/** Texts for names and values: valid ones, and hostile ones. */
const TEXTS = [
  ...[
    "",
    "0",
    "1",
    "7",
    "500",
    "501",
    "-1",
    "1e3",
    "0x10",
    "9007199254740993",
    "NaN",
    "true",
    "false",
  ],
  ...[
    "players",
    "name",
    "address",
    "version",
    "7d",
    "30",
    "365",
    "server",
    "online",
    "age",
  ],
  ...["java", "bedrock", "slp", "Paper", "1.21", "A", "C", "DE", "de", "cutShort", "10.0.0.0/8"],
  ...[
    "10.0.0.1",
    "::/0",
    "2001:db8::/32",
    "10.0.0.0/33",
    "0.0.0.0/0",
    "10.1.0.0/16",
    "812-40",
    "1700000000000-812-40",
  ],
  ...[
    "1700000000000",
    "8640000000000000",
    "8640000000000001",
    "%",
    "%00",
    "%ff",
    "%25",
    "\u202e",
    "\0",
  ],
  ...[
    "'",
    '"',
    "\\",
    "<script>",
    "%' or 1=1 --",
    "*",
    "a*",
    '"a" OR "b"',
    "NEAR(",
    "_",
    "ß",
    "İ",
    "😀",
  ],
  ...[
    "\ud800",
    "__proto__",
    "constructor",
    "toString",
    ".",
    "..",
    "../..",
    "a".repeat(100),
    "{",
    "[]",
  ],
  ...["sky", "Zebra", SCAN_ID, ICON],
];

longTest("10,000 random requests get no status 5xx", () =>
  withDatabase(async (data) => {
    const get = clientOf({ data });
    const random = new Random(14);
    const pick = <T>(list: readonly T[]): T => list[random.below(list.length)];
    const written = (text: string) =>
      random.chance(0.9) ? encodeURIComponent(text.toWellFormed()) : encodeURI(text.toWellFormed());
    const routes = ROUTES.filter(({ path }) => path !== "/api/live");
    const statuses = new Map<number, number>();
    for (let i = 0; i < REQUESTS; i++) {
      const { path, parameters } = pick(routes);
      const names = Object.keys(parameters);
      const query = Array.from({ length: random.below(4) }, () => {
        const name = random.chance(0.95) && names.length > 0 ? pick(names) : pick(TEXTS);
        return `${written(name)}=${written(pick(TEXTS))}`;
      });
      const segments = path.replace(/\{\w+\}/g, () =>
        random.chance(0.5) ? "1" : written(pick(TEXTS)));
      const line = `GET ${segments}${query.length === 0 ? "" : `?${query.join("&")}`}`;
      const { status, text } = await get(line.replaceAll(" ", "+").replace("GET+", "GET "));
      assert(status < 500, `${line}: ${status} ${text}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert(statuses.get(200)! > 2000 && statuses.get(400)! > 2000, `${[...statuses]}`);
  }));
