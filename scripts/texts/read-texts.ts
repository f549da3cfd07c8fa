import { type Node, parseSync } from "oxc-parser";
import { childrenOf } from "../reference/declarations.ts";

/** One text of the source, with placeholders like `${name}` for its inserted values. */
export interface SourceText {
  line: number;
  text: string;
}

/**
 * Finds the texts of a TypeScript file that a reader can see: string and template literals that contain words, and the
 * text inside JSX. Joined literals count as one text. Names, module paths, types and single identifiers are left out.
 */
export function readTexts(file: string, source: string): SourceText[] {
  const { program } = parseSync(file, source);
  const texts: SourceText[] = [];
  const visit = (node: Node, parent?: Node) => {
    if (SKIPPED_NODES.has(node.type)) return;
    const text = textOf(node, source);
    if (text !== undefined) {
      if (isReadable(text, parent)) texts.push({ line: lineAt(source, node.start), text });
      if (node.type !== "TemplateLiteral" && node.type !== "BinaryExpression") return;
    }
    for (const child of childrenOf(node)) {
      // A joined literal was already listed as part of the whole text.
      if (text !== undefined && textOf(child, source) !== undefined && node.type === "BinaryExpression")
        continue;
      visit(child, node);
    }
  };
  for (const node of program.body) visit(node as Node);
  return texts;
}

const SKIPPED_NODES: ReadonlySet<string> = new Set([
  "ImportDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSTypeAliasDeclaration",
  "TSInterfaceDeclaration",
  "TSTypeAnnotation",
  "TSTypeParameterInstantiation",
  "TaggedTemplateExpression",
]);

function textOf(node: Node, source: string): string | undefined {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  if (node.type === "JSXText") return node.value.replace(/\s+/g, " ").trim();
  if (node.type === "TemplateLiteral") {
    const parts = node.quasis.map(({ value }, at) => {
      const inserted = node.expressions[at];
      return `${value.cooked ?? ""}${inserted === undefined ? "" : `\${${shorten(source.slice(inserted.start, inserted.end))}}`}`;
    });
    return parts.join("");
  }
  if (node.type === "BinaryExpression" && node.operator === "+") {
    const left = textOf(node.left as Node, source);
    const right = textOf(node.right as Node, source);
    if (left === undefined && right === undefined) return undefined;
    const shown = (text: string | undefined, side: Node) =>
      text ?? `\${${shorten(source.slice(side.start, side.end))}}`;
    return `${shown(left, node.left as Node)}${shown(right, node.right as Node)}`;
  }
  return undefined;
}

function isReadable(text: string, parent: Node | undefined): boolean {
  const prose = text.replaceAll(/\$\{[^}]*\}/g, "").trim();
  if (!/\p{L}{2}/u.test(prose)) return false;
  if (parent?.type === "Property" && parent.value !== undefined && READ_KEYS.has(keyOf(parent))) return true;
  if (parent?.type === "JSXElement" || parent?.type === "JSXAttribute") return /\s|^[A-Z]/.test(prose);
  return /\p{L}[,.:;!?…)]?\s+\S*\p{L}/u.test(prose) || /^\p{Lu}\p{Ll}+[.:!?…]?$/u.test(prose);
}

/** Properties whose value is shown even if it is a single word. */
const READ_KEYS: ReadonlySet<string> = new Set([
  "description",
  "summary",
  "message",
  "hint",
  "label",
  "title",
]);

function keyOf(node: Node): string {
  const key = (node as { key?: { name?: string; value?: unknown } }).key;
  return key?.name ?? String(key?.value ?? "");
}

function shorten(code: string): string {
  const line = code.replace(/\s+/g, " ");
  return line.length > 40 ? `${line.slice(0, 39)}…` : line;
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split("\n").length;
}
