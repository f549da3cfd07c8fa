import { join } from "node:path";
import { rpcCommands, uiRequests } from "../../packages/cli/src/rpc/protocol.ts";
import { codeOf, membersOf, readSource, type SourceFile } from "./declarations.ts";
import { code, page, prose, sentence, table } from "./markdown.ts";

/** A shape of zod schemas. */
type Fields = Readonly<Record<string, { safeParse(value: unknown): { success: boolean } }>>;

/** Commands and questions of `bonsai --mode rpc`, with their fields. */
export function rpcPage(root: string): string {
  const protocol = readSource(join(root, "packages/cli/src/rpc/protocol.ts"));
  const data = new Map(membersOf(protocol, "RpcData").map((member) => [member.name, member]));
  const commands = Object.entries(rpcCommands).map(([name, fields]) => {
    const member = data.get(name)!;
    return [
      code(name),
      fieldsOf(fields),
      code(dataOf(protocol, member.node)),
      prose(sentence(member.comment)),
    ];
  });
  return page("RPC commands", "`bonsai --mode rpc`. [The guide](../rpc.md) shows how to use them.", [
    `## Commands\n\nOptional fields end with \`?\`. The type of the data is in TypeScript.`,
    table(["command", "fields", "data of the response", ""], commands),
    `## Questions and messages of extensions\n\n${described(protocol, "uiRequests", uiRequests)}`,
  ]);
}

function described(source: SourceFile, constant: string, all: Record<string, Fields>): string {
  const comments = new Map(membersOf(source, constant).map(({ name, comment }) => [name, comment]));
  const rows = Object.entries(all).map(([name, fields]) => [
    code(name),
    fieldsOf(fields),
    prose(sentence(comments.get(name) ?? "")),
  ]);
  return table(["name", "fields", ""], rows);
}

function fieldsOf(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, schema]) => code(`${name}${schema.safeParse(undefined).success ? "?" : ""}`))
    .join(", ");
}

function dataOf(source: SourceFile, node: { start: number; end: number }): string {
  const text = codeOf(source, node).replaceAll(/\s+/g, " ");
  return text === "undefined" ? "" : text;
}
