/**
 * The tags of an XML document as its text comes in: the subset that scanners write. There is no
 * DTD, no entity but the five of XML and numeric ones, and a bound for everything that is kept.
 *
 * @module
 */

/** Text that is not XML, or more than is read of it. */
export class XmlError extends Error {
  /** Always `"XmlError"`. */
  override readonly name = "XmlError";
}

/** A tag. */
export interface Tag {
  /** Its name. */
  readonly name: string;
  /** The names of the elements around it, the root first. */
  readonly within: readonly string[];
  /** Its attributes. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** Characters of one tag or comment at the most: a script of nmap may print a page. */
const LONGEST_TAG = 1 << 20;
/** Elements inside each other at the most; nmap's scripts nest some ten. */
const DEEPEST = 64;

/** What `<` begins. */
type Kind = "tag" | "comment" | "instruction" | "declaration";

/** Reads tags: in linear time, each character once, wherever the text is cut. */
export class XmlReader {
  /** The line that is being read, from 1. */
  line = 1;
  readonly #open: string[] = [];
  #parts: string[] = [];
  /** Characters of the tag so far; 0 outside of tags. */
  #length = 0;
  #head = "";
  #quote = 0;
  /** The two characters before the present one. */
  #last = [0, 0];
  #rooted = false;

  /** @param longestTag Characters of one tag at the most. Default: 1 Mi. */
  constructor(private readonly longestTag = LONGEST_TAG) {}

  /** Whether the root element has begun and ended. */
  get isWhole(): boolean {
    return this.#rooted && this.#open.length === 0 && this.#length === 0;
  }

  /**
   * The opening and empty tags that a part of the text completes.
   *
   * @throws XmlError
   */
  *read(text: Pick<string, "length" | "charCodeAt" | "slice">): Generator<Tag, void> {
    let begin = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === LINE_FEED) this.line++;
      if (this.#length === 0) {
        if (code !== LESS) continue;
        begin = i;
      }
      if (!this.#ends(code)) continue;
      this.#parts.push(text.slice(begin, i + 1));
      const whole = this.#parts.join("");
      const kind = this.#kind;
      this.#reset();
      begin = i + 1;
      const tag = kind === "tag" ? this.#tag(whole) : undefined;
      if (tag !== undefined) yield tag;
    }
    if (this.#length > 0) this.#parts.push(text.slice(begin));
  }

  /** Takes a character of a tag; whether it is its last. */
  #ends(code: number): boolean {
    if (++this.#length > this.longestTag) {
      throw new XmlError(`a tag has more than ${this.longestTag} characters`);
    }
    if (this.#head.length < 4) this.#head += String.fromCharCode(code);
    const [before, last] = this.#last;
    this.#last = [last, code];
    switch (this.#kind) {
      case "comment":
        return code === GREATER && this.#length >= 7 && before === DASH && last === DASH;
      case "instruction":
        return code === GREATER && last === QUESTION;
      case "declaration":
        if (code === BRACKET) throw new XmlError("it has a DTD, or text that is not in attributes");
    }
    if (this.#quote !== 0) {
      if (code === this.#quote) this.#quote = 0;
      return false;
    }
    if (code === DOUBLE || code === SINGLE) this.#quote = code;
    return code === GREATER;
  }

  get #kind(): Kind {
    const head = this.#head;
    if (head.startsWith("<?")) return "instruction";
    if (!head.startsWith("<!")) return "tag";
    return "<!--".startsWith(head) ? head === "<!--" ? "comment" : "tag" : "declaration";
  }

  #reset(): void {
    [this.#parts, this.#length, this.#head] = [[], 0, ""];
    [this.#quote, this.#last] = [0, [0, 0]];
  }

  #tag(text: string): Tag | undefined {
    const name = NAME.exec(text)?.[0];
    if (name === undefined) throw new XmlError("a tag is malformed");
    if (text[1] === "/") {
      if (this.#open.pop() !== name) throw new XmlError(`</${name}> ends no element`);
      return undefined;
    }
    if (this.#open.length === 0 && this.#rooted) throw new XmlError("it has two root elements");
    this.#rooted = true;
    const tag = { name, within: [...this.#open], attributes: attributesOf(text, 1 + name.length) };
    if (!text.endsWith("/>")) this.#open.push(name);
    if (this.#open.length > DEEPEST) {
      throw new XmlError(`its elements are more than ${DEEPEST} levels deep`);
    }
    return tag;
  }
}

const NAME = /(?<=^<\/?)[A-Za-z_:][\w:.-]{0,63}(?=[\s/>])/;
const ATTRIBUTE = /\s+([A-Za-z_:][\w:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const END = /\s*\/?>/y;

/** The attributes of a tag, from a place in it on. */
function attributesOf(text: string, from: number): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  ATTRIBUTE.lastIndex = from;
  for (let at = from;; at = ATTRIBUTE.lastIndex) {
    const [, name, double, single] = ATTRIBUTE.exec(text) ?? [];
    if (name === undefined) {
      END.lastIndex = at;
      if (END.test(text) && END.lastIndex === text.length) return attributes;
      throw new XmlError("a tag is malformed");
    }
    attributes.set(name, (double ?? single).replace(/&([^;&]{0,10};)?/g, character));
  }
}

const PREDEFINED: ReadonlyMap<string, string> = new Map(
  Object.entries({ "amp;": "&", "lt;": "<", "gt;": ">", "quot;": '"', "apos;": "'" }),
);

/** What an entity stands for. */
function character(entity: string, name = ""): string {
  const plain = PREDEFINED.get(name);
  if (plain !== undefined) return plain;
  const [, hex, decimal] = /^#(?:x([\da-fA-F]+)|(\d+));$/.exec(name) ?? [];
  const code = hex !== undefined ? parseInt(hex, 16) : Number(decimal);
  if (code <= 0x10ffff) return String.fromCodePoint(code);
  throw new XmlError(`the entity ${entity} is not one of XML's own`);
}

const [LINE_FEED, LESS, GREATER, BRACKET] = [10, 60, 62, 91];
const [DOUBLE, SINGLE, DASH, QUESTION] = [34, 39, 45, 63];
