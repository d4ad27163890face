/** Mutations of a TypeScript source: small faults, each of which a test should find. */

/** What is used of a node of TypeScript's syntax tree; fields that a kind lacks are undefined. */
interface Node {
  readonly kind: number;
  readonly end: number;
  readonly parent: Node;
  readonly expression: Node;
  readonly condition: Node;
  readonly left: Node;
  readonly right: Node;
  readonly operatorToken: Node;
  readonly arguments: readonly Node[];
  getStart(): number;
  getText(): string;
  forEachChild(visit: (child: Node) => void): void;
}

/** What is used of TypeScript. Its types would be downloaded with every check of the project. */
interface TypeScript {
  readonly SyntaxKind: Readonly<Record<string, number>>;
  readonly ScriptTarget: { readonly Latest: number };
  createSourceFile(path: string, text: string, target: number, hasParents: boolean): Node;
}

/** A text that replaces another one. */
export interface Mutation {
  /** What kind of fault it is. */
  readonly operator: string;
  /** Position of the first replaced character. */
  readonly start: number;
  /** Position after the last replaced character. */
  readonly end: number;
  readonly replacement: string;
}

/** Operators and what replaces them. */
const OPERATORS: Readonly<Record<string, readonly [kind: string, operator: string]>> = {
  "<": ["bound", "<="],
  "<=": ["bound", "<"],
  ">": ["bound", ">="],
  ">=": ["bound", ">"],
  "===": ["equality", "!=="],
  "!==": ["equality", "==="],
  "&&": ["logic", "||"],
  "||": ["logic", "&&"],
  "+": ["arithmetic", "-"],
  "-": ["arithmetic", "+"],
  "*": ["arithmetic", "/"],
  "+=": ["arithmetic", "-="],
  "-=": ["arithmetic", "+="],
};

/** Loads the parser. */
export async function loadParser(): Promise<(path: string, text: string) => readonly Mutation[]> {
  const name: string = "npm:typescript@5.9.3";
  const { default: ts } = await import(name) as { default: TypeScript };
  return (path, text) => mutationsOf(ts, path, text);
}

/** All mutations of a source, in the order of their positions. */
function mutationsOf(ts: TypeScript, path: string, text: string): readonly Mutation[] {
  const { SyntaxKind: is } = ts;
  const types = new Set(
    ["TypeAliasDeclaration", "InterfaceDeclaration", "ImportDeclaration", "TypeReference"]
      .map((kind) => is[kind]),
  );
  const found: Mutation[] = [];
  const replace = (operator: string, node: Node, replacement: string) =>
    found.push({ operator, start: node.getStart(), end: node.end, replacement });
  const isWithinTry = (node: Node): boolean =>
    node.parent !== undefined && (node.parent.kind === is.TryStatement || isWithinTry(node.parent));
  const visit = (node: Node): void => {
    if (types.has(node.kind)) return;
    switch (node.kind) {
      case is.BinaryExpression: {
        const sign = node.operatorToken.getText();
        const other = OPERATORS[sign];
        const isText = [node.left, node.right].some(({ kind }) =>
          kind === is.StringLiteral || kind === is.TemplateExpression ||
          kind === is.NoSubstitutionTemplateLiteral
        );
        if (other !== undefined && !isText) replace(other[0], node.operatorToken, other[1]);
        if (sign === "??") replace("default", node, node.left.getText());
        break;
      }
      case is.IfStatement:
      case is.WhileStatement:
        replace("condition", node.expression, `!(${node.expression.getText()})`);
        break;
      case is.ConditionalExpression:
        replace("condition", node.condition, `!(${node.condition.getText()})`);
        break;
      case is.ExpressionStatement:
        if (node.expression.kind !== is.StringLiteral) replace("statement", node, ";");
        break;
      case is.AwaitExpression:
        // An async function waits for what it returns, unless a try statement does first.
        if (node.parent.kind !== is.ReturnStatement || isWithinTry(node)) {
          replace("await", node, `(${node.expression.getText()})`);
        }
        break;
      case is.CallExpression: {
        const [first, second] = node.arguments;
        if (second === undefined || first.getText() === second.getText()) break;
        if (/^Math\.(?:min|max)$/.test(node.expression.getText())) break; // the order is free
        const between = text.slice(first.end, second.getStart());
        found.push({
          operator: "arguments",
          start: first.getStart(),
          end: second.end,
          replacement: second.getText() + between + first.getText(),
        });
        break;
      }
      case is.NumericLiteral:
        if (node.parent.kind !== is.LiteralType) {
          replace("number", node, `(${node.getText()} + 1)`);
        }
        break;
      case is.TrueKeyword:
      case is.FalseKeyword:
        if (node.parent.kind !== is.LiteralType) {
          replace("boolean", node, node.kind === is.TrueKeyword ? "false" : "true");
        }
        break;
      case is.ReturnStatement:
        if (node.expression !== undefined) replace("return", node.expression, "undefined as never");
        break;
    }
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

/** The line of a position. */
export function lineAt(text: string, position: number): string {
  const from = text.lastIndexOf("\n", position - 1) + 1;
  const to = text.indexOf("\n", position);
  return text.slice(from, to < 0 ? undefined : to);
}

/** The text with a mutation. */
export function mutate(text: string, { start, end, replacement }: Mutation): string {
  return text.slice(0, start) + replacement + text.slice(end);
}
