import { dirname, join, resolve } from "node:path";
import type { Node } from "oxc-parser";
import type { Package } from "../structure/workspace.ts";
import { codeOf, commentAbove, declarationOf, namesOf, readSource, type SourceFile } from "./declarations.ts";
import { page, prose, table } from "./markdown.ts";

interface Exported {
  name: string;
  kind: string;
  /** Text of its doc comment. */
  comment: string;
  signature: string;
  /** Package that it comes from, if it is another one. */
  from?: string;
}

/** Longest initial value that a constant shows. */
const MAX_VALUE_CHARS = 200;

/** The exported names of a package with signatures and comments, by entry point. */
export function apiPage(pkg: Package): string {
  const entries = Object.entries(pkg.manifest.exports ?? {}).flatMap(([path, target]) => {
    const source = typeof target === "string" ? undefined : target["@bonsai-agent/source"];
    if (source === undefined) return [];
    const exported = exportsOf(join(pkg.folder, source));
    return [section(`${pkg.name}${path.slice(1)}`, exported)];
  });
  return page(pkg.name, "[What it is for](README.md).", entries);
}

function section(name: string, exported: readonly Exported[]): string {
  const own = exported.filter(({ from }) => from === undefined).sort(byName);
  const others = exported.filter(({ from }) => from !== undefined).sort(byName);
  const passedOn = table(
    ["also exported", "from"],
    others.map(({ name: each, from }) => [`\`${each}\``, `\`${from}\``]),
  );
  return [
    `## \`${name}\``,
    ...own.map(
      ({ name: each, kind, comment, signature }) =>
        `### ${each}\n\n${[kind, prose(comment)].filter((text) => text !== "").join(". ")}\n\n\`\`\`ts\n${signature}\n\`\`\``,
    ),
    ...(others.length > 0 ? [passedOn] : []),
  ].join("\n\n");
}

function byName(one: Exported, other: Exported): number {
  return one.name < other.name ? -1 : 1;
}

function exportsOf(file: string): Exported[] {
  const source = readSource(file);
  return source.body.flatMap((statement): Exported[] => {
    if (statement.type !== "ExportNamedDeclaration") return [];
    if (statement.declaration)
      return namesOf(declarationOf(statement)).map((name) => found(source, name, name));
    const from = statement.source?.value;
    return statement.specifiers.map((specifier) => {
      const [local, name] = [specifier.local, specifier.exported].map(
        (id) => (id as { name?: string; value?: string }).name ?? String((id as { value?: string }).value),
      ) as [string, string];
      if (from === undefined) return found(source, local, name);
      return from.startsWith(".")
        ? found(readSource(resolve(dirname(file), from)), local, name)
        : { name, kind: "", comment: "", signature: "", from };
    });
  });
}

/** Follows re-exports to the file that declares a name. */
function found(source: SourceFile, local: string, name: string): Exported {
  const statements = source.body.filter((each) => namesOf(declarationOf(each)).includes(local));
  const [first] = statements;
  if (first !== undefined) {
    const comment = statements.map((each) => commentAbove(source, each)).find((text) => text !== "") ?? "";
    const overloads = statements.filter((each) => declarationOf(each).type === "TSDeclareFunction");
    const shown = overloads.length > 0 ? overloads : [first];
    const signature = shown.map((each) => signatureOf(source, declarationOf(each), local)).join("\n");
    return { name, kind: kindOf(declarationOf(first)), comment: plain(comment), signature };
  }
  for (const statement of source.body) {
    const names = statement.type === "ImportDeclaration" || statement.type === "ExportNamedDeclaration";
    const from = names ? statement.source?.value : undefined;
    if (from === undefined) continue;
    const match = (statement as { specifiers: readonly Node[] }).specifiers
      .map(
        (each) =>
          each as { local: { name: string }; imported?: { name: string }; exported?: { name: string } },
      )
      .find((each) => (each.exported ?? each.local).name === local);
    if (match === undefined) continue;
    const inner = match.imported?.name ?? match.local.name;
    return from.startsWith(".")
      ? found(readSource(resolve(dirname(source.path), from)), inner, name)
      : { name, kind: "", comment: "", signature: "", from };
  }
  throw new Error(`${source.path} exports ${local}, which is declared nowhere`);
}

function kindOf({ type }: Node): string {
  switch (type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
      return "Function";
    case "ClassDeclaration":
      return "Class";
    case "TSInterfaceDeclaration":
      return "Interface";
    case "TSTypeAliasDeclaration":
      return "Type";
    default:
      return "Constant";
  }
}

function signatureOf(source: SourceFile, declaration: Node, name: string): string {
  const until = (end: number) => codeOf(source, { start: declaration.start, end }).trim();
  if (declaration.type === "FunctionDeclaration")
    return until(declaration.body?.start ?? declaration.end).replace(/^async /, "");
  if (declaration.type === "ClassDeclaration")
    return [
      `${until(declaration.body.start)} {`,
      ...declaration.body.body.flatMap((each) => memberLines(source, each as Node)),
      "}",
    ].join("\n");
  if (declaration.type !== "VariableDeclaration") return codeOf(source, declaration);
  const variable = declaration.declarations.find(({ id }) => (id as { name?: string }).name === name)!;
  const named = codeOf(source, variable.id);
  if (/:/.test(named) || !variable.init) return `const ${named}`;
  const init = variable.init as Node;
  if (init.type === "ArrowFunctionExpression" || init.type === "FunctionExpression") {
    const body = (init.body as Node | null)?.start ?? init.end;
    return `const ${named} = ${codeOf(source, { start: init.start, end: body }).trim()} …`;
  }
  const value = codeOf(source, init);
  return value.length <= MAX_VALUE_CHARS ? `const ${named} = ${value}` : `const ${named}`;
}

/** A public member of a class with its comment. */
function memberLines(source: SourceFile, member: Node): string[] {
  if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return [];
  const isPrivate = member.key.type === "PrivateIdentifier" || member.accessibility === "private";
  if (isPrivate) return [];
  const end =
    member.type === "MethodDefinition"
      ? ((member.value.body as Node | null)?.start ?? member.end)
      : ((member.value as Node | null)?.start ?? member.end);
  const text = codeOf(source, { start: member.start, end })
    .trim()
    .replace(/^async /, "")
    .replace(/\s*=$/, "")
    .replace(/;?$/, ";");
  const comment = commentAbove(source, member);
  const lines = [...(comment === "" ? [] : [`/** ${comment.replaceAll("\n", " ")} */`]), ...text.split("\n")];
  return lines.map((line) => `  ${line}`);
}

/** A doc comment as Markdown: links become code, tags become list items. */
function plain(comment: string): string {
  return comment
    .replaceAll(/\{@link\s+([^}]+)\}/g, "`$1`")
    .replaceAll(/^@(\w+) ?/gm, "- *$1* ")
    .replace(/\n- \*/, "\n\n- *");
}
