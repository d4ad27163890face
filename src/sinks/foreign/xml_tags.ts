/**
 * A streaming reader for the tags of an XML document, for the subset of XML that scanners write. It
 * refuses DTDs. It accepts only the five predefined entities of XML and numeric entities. All buffers
 * are bounded.
 *
 * @module
 */

/** The error of a text that is not XML, or that exceeds a limit of the reader. */
export class XmlError extends Error {
  /** The name in stack traces, always `"XmlError"`. */
  override readonly name = "XmlError";
}

/** An opening or empty tag. */
export interface Tag {
  /** The name of the element. */
  readonly name: string;
  /** Names of the enclosing elements, the root first. */
  readonly ancestors: readonly string[];
  /** Values of attributes by name, with entities replaced. */
  readonly attributes: ReadonlyMap<string, string>;
}

/** Maximum length of a tag or comment, UTF-16 code units. Output of nmap's scripts may be long. */
const MAX_TAG_LENGTH = 1 << 20;
/** Maximum nesting depth of elements. Output of nmap's scripts has about ten levels. */
const MAX_DEPTH = 64;

/** Kinds of markup that begin with `<`. */
type Kind = "tag" | "comment" | "instruction" | "declaration";

/** Reads tags in linear time. The text may be cut into chunks at any position. */
export class XmlReader {
  /** Number of the current line, from 1. */
  line = 1;
  readonly #open: string[] = [];
  #parts: string[] = [];
  /** Length of the current tag so far; 0 outside of tags. */
  #length = 0;
  #head = "";
  #quote = 0;
  /** Codes of the two characters before the current one. */
  #last = [0, 0];
  #rooted = false;

  /** @param maxTagLength Maximum length of a tag, UTF-16 code units. Default: 2^20. */
  constructor(private readonly maxTagLength = MAX_TAG_LENGTH) {}

  /** Whether the root element has ended. */
  get isWhole(): boolean {
    return this.#rooted && this.#open.length === 0 && this.#length === 0;
  }

  /**
   * Reads the next part of the text. Returns the opening and empty tags that end in this part.
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

  /** Processes a character of a tag. Returns whether the tag ends with this character. */
  #ends(code: number): boolean {
    if (++this.#length > this.maxTagLength) {
      throw new XmlError(`a tag has more than ${this.maxTagLength} characters`);
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
        if (code === BRACKET) throw new XmlError("it has a DTD or a CDATA section");
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
      if (this.#open.pop() !== name) throw new XmlError(`</${name}> closes no open element`);
      return undefined;
    }
    if (this.#open.length === 0 && this.#rooted) throw new XmlError("it has two root elements");
    this.#rooted = true;
    const attributes = attributesOf(text, 1 + name.length);
    const tag = { name, ancestors: [...this.#open], attributes };
    if (!text.endsWith("/>")) this.#open.push(name);
    if (this.#open.length > MAX_DEPTH) {
      throw new XmlError(`its elements are more than ${MAX_DEPTH} levels deep`);
    }
    return tag;
  }
}

const NAME = /(?<=^<\/?)[A-Za-z_:][\w:.-]{0,63}(?=[\s/>])/;
const ATTRIBUTE = /\s+([A-Za-z_:][\w:.-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/y;
const END = /\s*\/?>/y;

/** Parses the attributes of a tag from an index on. */
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

function character(entity: string, name = ""): string {
  const plain = PREDEFINED.get(name);
  if (plain !== undefined) return plain;
  const [, hex, decimal] = /^#(?:x([\da-fA-F]+)|(\d+));$/.exec(name) ?? [];
  const code = hex !== undefined ? parseInt(hex, 16) : Number(decimal);
  if (code <= 0x10ffff) return String.fromCodePoint(code);
  throw new XmlError(`the entity ${entity} is not predefined in XML`);
}

const [LINE_FEED, LESS, GREATER, BRACKET] = [10, 60, 62, 91];
const [DOUBLE, SINGLE, DASH, QUESTION] = [34, 39, 45, 63];
