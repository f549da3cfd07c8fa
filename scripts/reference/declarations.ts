import { readFileSync } from "node:fs";
import { type Node, parseSync } from "oxc-parser";

/** One parsed TypeScript file. */
export interface SourceFile {
  path: string;
  text: string;
  body: readonly Node[];
  /** Start of each comment by its end. */
  comments: ReadonlyMap<number, number>;
}

/** A named part of a declaration: a member of an interface, or a property of an object literal. */
export interface Member {
  name: string;
  /** Text of the doc comment above it; empty without one. */
  comment: string;
  /** Its type, or its value. */
  node: Node;
}

const cache = new Map<string, SourceFile>();

export function readSource(path: string): SourceFile {
  const cached = cache.get(path);
  if (cached !== undefined) return cached;
  const text = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`);
  const source = {
    path,
    text,
    body: program.body as Node[],
    comments: new Map(comments.map(({ start, end }) => [end, start])),
  };
  cache.set(path, source);
  return source;
}

/** The declaration in a statement, without its `export`. */
export function declarationOf(statement: Node): Node {
  const isExport = statement.type === "ExportNamedDeclaration";
  return isExport && statement.declaration ? statement.declaration : statement;
}

/** Names that a declaration introduces. */
export function namesOf(declaration: Node): string[] {
  switch (declaration.type) {
    case "VariableDeclaration":
      return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []));
    case "FunctionDeclaration":
    case "ClassDeclaration":
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
    case "TSDeclareFunction":
      return declaration.id ? [declaration.id.name] : [];
    default:
      return [];
  }
}

/** Statements that declare a name; overloads of a function are several. */
export function statementsOf(source: SourceFile, name: string): Node[] {
  return source.body.filter((statement) => namesOf(declarationOf(statement)).includes(name));
}

/** The members of an interface, or the properties of an object literal that a constant is. */
export function membersOf(source: SourceFile, name: string): Member[] {
  const [statement] = statementsOf(source, name);
  if (statement === undefined) throw new Error(`${source.path} declares no ${name}`);
  const declaration = declarationOf(statement);
  const parts: Node[] =
    declaration.type === "TSInterfaceDeclaration"
      ? declaration.body.body
      : declaration.type === "VariableDeclaration"
        ? propertiesOf(declaration.declarations[0]?.init as Node)
        : [];
  return parts.flatMap((part): Member[] => {
    const value =
      part.type === "TSPropertySignature"
        ? part.typeAnnotation?.typeAnnotation
        : part.type === "Property"
          ? part.value
          : undefined;
    const key = (part as { key?: { name?: string } }).key?.name;
    if (value === undefined || key === undefined) return [];
    return [{ name: key, comment: commentAbove(source, part), node: value as Node }];
  });
}

/** The properties of an object literal below `as const` and `satisfies`. */
function propertiesOf(node: Node): Node[] {
  if (node.type === "TSAsExpression" || node.type === "TSSatisfiesExpression")
    return propertiesOf(node.expression as Node);
  return node.type === "ObjectExpression" ? (node.properties as Node[]) : [];
}

/** The text of the doc comment directly above a node, without its stars. */
export function commentAbove(source: SourceFile, { start }: { start: number }): string {
  const end = source.text.slice(0, start).trimEnd().length;
  const begin = source.comments.get(end);
  if (begin === undefined || !source.text.startsWith("/**", begin)) return "";
  return source.text
    .slice(begin + 3, end - 2)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trim())
    .join("\n")
    .trim();
}

/** The code of a node without the indentation of its last line. */
export function codeOf({ text }: SourceFile, { start, end }: { start: number; end: number }): string {
  const lines = text.slice(start, end).split("\n");
  const indent = /^ */.exec(lines.at(-1)!)![0].length;
  return lines.map((line, index) => (index === 0 ? line : line.slice(indent))).join("\n");
}

export function childrenOf(node: Node): Node[] {
  return Object.values(node).flatMap((value) =>
    (Array.isArray(value) ? value : [value]).filter(
      (child): child is Node => typeof (child as Node | null)?.type === "string",
    ),
  );
}
