import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { placeFields } from "../../../src/protocols/raknet/advertisement_fields.ts";
import { decodeAdvertisement } from "../../../src/protocols/raknet/mod.ts";

/** The MOTD, version, players, slots and level of an advertisement. */
function read(text: string) {
  const status = decodeAdvertisement(new TextEncoder().encode(text))!;
  return [status.motd, status.version, status.online, status.max, status.level];
}

const TAIL = "408;1.16.20;0;5;5335687477053034848;lvl;Creative;";

Deno.test("decodeAdvertisement() finds the end of a MOTD with an unescaped `;`", () => {
  const motds = [
    "a;b",
    ";",
    ";;a",
    "a;",
    "a;b;c;d",
    "a\\",
    "a;\\",
    // Numbers that could be the protocol and the counts.
    "Welcome;2024",
    "12;34",
    "-1;x",
    "a;1;2;3",
    "9;8;7;6;5",
    "1;2;3;4;5;6",
  ];
  for (const motd of motds) {
    assertEquals(read(`MCPE;${motd};${TAIL}`), [motd, "1.16.20", 0, 5, "lvl"]);
  }
});

Deno.test("decodeAdvertisement() keeps the places of fields if no other places fit better", () => {
  const id = "5335687477053034848";
  // PowerNukkitX writes no version.
  assertEquals(read(`MCPE;a;408;;0;5;${id};lvl;`), ["a", null, 0, 5, "lvl"]);
  assertEquals(read(`MCPE;a;408;26;0;5;${id};lvl;`), ["a", "26", 0, 5, "lvl"]);
  assertEquals(read(`MCPE;a;408;1.16.20;?;5;${id};lvl;`), ["a", "1.16.20", null, 5, "lvl"]);
  assertEquals(read("MCPE;a;408;1.16.20;"), ["a", "1.16.20", null, null, null]);
  assertEquals(read("MCPE;a\\;b;408;1.16.20;x;y;"), ["a;b", "1.16.20", null, null, null]);
  assertEquals(read("MCPE;a\\;408;1.16.20;x;y;"), ["a\\", "1.16.20", null, null, null]);
});

/** Parts of texts: some that occur in fields, and some that do not. */
const PIECES = [
  "",
  "a",
  "news",
  " b",
  "é",
  "2024",
  "-1",
  "0",
  "1",
  "7",
  "19132",
  "766",
  "1.21.50",
  "99999",
  "Survival",
  "Creative",
  "5335687477053034848",
  "MCPE",
];
const MODES = ["Survival", "Creative", "Adventure", "Spectator"];
const draw = (random: Random, pieces: readonly string[]) =>
  Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces)).join(";");

/** A game mode: one of the game, or another text. */
function drawMode(random: Random): string {
  if (random.chance(0.6)) return random.pick(MODES);
  return random.pick(PIECES) + random.pick(["x", " y", "é"]);
}

Deno.test("decodeAdvertisement() yields the true fields, or null with a flag, for a `;` at any place", () => {
  const random = new Random(20261122);
  const seen = { right: 0, rejoined: 0, leftOut: 0, later: 0 };
  for (let round = 0; round < 50_000; round++) {
    const plain = random.chance(0.3);
    const motd = plain ? "A server" : draw(random, PIECES);
    const level = draw(random, PIECES);
    const mode = drawMode(random);
    const layout = random.below(6); // count of the numbers after the game mode
    const numbers = ["1", "19132", "19133", "0", "0"].slice(0, layout);
    const isLater = layout >= 3 && MODES.includes(mode) && random.chance(0.3);
    if (isLater) numbers.push("x", ...draw(random, PIECES).split(";"));
    const truth: Record<string, unknown> = {
      motd,
      protocol: 766,
      version: "1.21.50",
      online: 3,
      max: 20,
      level,
      gamemode: mode,
      portV4: layout > 1 ? 19132 : null,
      portV6: layout > 2 ? 19133 : null,
    };
    const head = `MCPE;${motd};766;1.21.50;3;20;5335687477053034849;${level};${mode}`;
    const text = [head, ...numbers].join(";") + (random.chance(0.8) ? ";" : "");
    const status = decodeAdvertisement(new TextEncoder().encode(text))!;
    const flagged = status.flags.includes("motdSemicolon") ||
      status.flags.includes("levelSemicolon");
    for (const [name, value] of Object.entries(truth)) {
      const read = status[name as keyof typeof status] || null;
      if (read === (value || null)) continue;
      assert(read === null && flagged, `${name} is ${read} of ${JSON.stringify(text)}`);
    }
    if (isLater && status.portV6 !== null) seen.later++;
    if (status.level === null && level !== "") seen.leftOut++;
    else if (status.flags.includes("levelSemicolon")) seen.rejoined++;
    else seen.right++;
  }
  assert(Object.values(seen).every((count) => count > 1000), JSON.stringify(seen));
});

Deno.test("decodeAdvertisement() takes time linear in any text", () => {
  // The test counts field reads, which must be linear in the number of fields.
  const looks = (part: string, copies: number) => {
    let count = 0;
    const fields = `MCPE;a;766;1.21;0;1;1;${part.repeat(copies)}`.split(";");
    const counted = new Proxy(fields, {
      get(target, key) {
        if (typeof key === "string" && /^[0-9]+$/.test(key)) count++;
        return Reflect.get(target, key);
      },
    });
    placeFields(counted, "");
    return count;
  };
  for (const part of ["1;a;2;3;4;", "Survival;1;2;3;x;", "a;1.2;3;4;5;"]) {
    const [once, twice] = [looks(part, 1000), looks(part, 2000)];
    assert(once > 5000 && twice < 2.1 * once, `${once} and ${twice} looks at ${part}`);
  }
});
