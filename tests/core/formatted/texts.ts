/** Texts of untrusted hosts. */
import fc from "npm:fast-check@4.10.2";

const PIECES = [
  ..."aBx019#§\n\t \u0000\u001b\u009b\u202e\u2067\u200b\u200d\u0301\u20dd\u00ad\ud83d<>&\"'%",
  "§a",
  "§l",
  "§r",
  "§k",
  "§n",
  "§x",
  "§X§1§2§3§4§5§6",
  "§#12aBeF",
  "§x§1§2§3",
  "§#12",
  "§g",
  "\u001b[31m",
  "\u001b]0;x\u0007",
  "<script>",
  "</bdi>",
  "m\u0308",
  "خادم",
  "🎮",
  "大",
  "%1$s",
];

/** A random text in which all special characters are frequent. */
export const TEXT = fc.array(fc.constantFrom(...PIECES), { maxLength: 24 }).map((all) =>
  all.join("")
);
