import { readFileSync } from "node:fs";
import { type Node, parseSync } from "oxc-parser";

/** The types of one event, as its interface has them. */
export interface EventTypes {
  name: string;
  kind: "notify" | "decide";
  payload: string;
  /** Of a decide event. */
  result?: string;
}

/** A type that is declared in one of the files. */
export interface DeclaredType {
  name: string;
  /** The declaration with its comment. */
  text: string;
}

interface Source {
  text: string;
  body: readonly Node[];
  /** Where each comment ends, and where it begins. */
  comments: ReadonlyMap<number, number>;
}

/** Reads the events that an interface declares as `name: NotifyEvent<…>` or `name: DecideEvent<…, …>`. */
export function readEventTypes(file: string, interfaceName: string): EventTypes[] {
  const source = read(file);
  const declaration = source.body.map(declared).find((node) => nameOf(node) === interfaceName);
  if (declaration?.type !== "TSInterfaceDeclaration")
    throw new Error(`${file} has no interface ${interfaceName}`);
  return declaration.body.body.map((member) => {
    const type = member.type === "TSPropertySignature" ? member.typeAnnotation?.typeAnnotation : undefined;
    if (
      member.type !== "TSPropertySignature" ||
      member.key.type !== "Identifier" ||
      type?.type !== "TSTypeReference"
    )
      throw new Error(`${interfaceName} in ${file} has a member that is no event`);
    const [payload, result] = (type.typeArguments?.params ?? []).map((node) => flush(source.text, node));
    const kind = text(source, type.typeName) === "DecideEvent" ? "decide" : "notify";
    return { name: member.key.name, kind, payload: payload!, ...(result === undefined ? {} : { result }) };
  });
}

/** The interfaces and type aliases that a file declares, with their comments. */
export function readDeclaredTypes(file: string): DeclaredType[] {
  const source = read(file);
  return source.body.flatMap((statement) => {
    const name = nameOf(declared(statement));
    return name === undefined ? [] : [{ name, text: withComment(source, statement) }];
  });
}

function read(file: string): Source {
  const text = readFileSync(file, "utf8");
  const { program, comments, errors } = parseSync(file, text, { lang: "ts" });
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  return { text, body: program.body, comments: new Map(comments.map(({ start, end }) => [end, start])) };
}

function declared(statement: Node): Node {
  const isExport = statement.type === "ExportNamedDeclaration";
  return isExport && statement.declaration ? statement.declaration : statement;
}

function nameOf(node: Node): string | undefined {
  const isType = node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration";
  return isType ? node.id.name : undefined;
}

function text(source: Source, { start, end }: { start: number; end: number }): string {
  return source.text.slice(start, end);
}

function withComment(source: Source, { start, end }: Node): string {
  const before = source.text.slice(0, start).trimEnd().length;
  return text(source, { start: source.comments.get(before) ?? start, end }).replace(/^export /m, "");
}

/** A part of a source without the indentation that its last line has. */
function flush(source: string, { start, end }: Node): string {
  const lines = source.slice(start, end).split("\n");
  const indent = /^ */.exec(lines.at(-1)!)![0].length;
  return lines.map((line, index) => (index === 0 ? line : line.slice(indent))).join("\n");
}
