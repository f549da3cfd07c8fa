import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Node, ObjectProperty } from "oxc-parser";
import { filesBelow, readExtensions, readPackages } from "../structure/workspace.ts";
import { childrenOf, commentAbove, readSource, type SourceFile } from "./declarations.ts";
import { code, page, prose, table } from "./markdown.ts";

/** A place in the code that makes an error or a notice. */
interface CodeSite {
  code: string;
  message: string;
  hint: string;
  package: string;
}

interface FileSites {
  errors: CodeSite[];
  notices: CodeSite[];
}

export function errorsPage(root: string): string {
  return page(
    "Error codes",
    'Every error has a stable code, a message and a hint. With `--json`, commands print `{"error":{"code","message","hint"}}` on standard error. A `…` stands for a value of the moment.',
    [rowsOf(readSites(root, "errors"), ["code", "message", "what to do", "package"])],
  );
}

export function noticesPage(root: string): string {
  return page(
    "Notice codes",
    "A notice tells the user about something that did not stop the work. JSON mode and RPC mode print it with its code. A `…` stands for a value of the moment.",
    [rowsOf(readSites(root, "notices"), ["code", "message", "package"])],
  );
}

function rowsOf(sites: readonly CodeSite[], head: readonly string[]): string {
  const byCode = Map.groupBy(sites, (site) => `${site.code} ${site.package}`);
  const rows = [...byCode.values()]
    .sort(([one], [other]) => (one!.code < other!.code ? -1 : 1))
    .map((group) => {
      const joined = (texts: readonly string[]) =>
        [...new Set(texts)]
          .filter((text) => text !== "")
          .map(prose)
          .join("<br>");
      const message = joined(group.map((site) => site.message));
      const hint = joined(group.map((site) => site.hint));
      const [{ code: name, package: from }] = group as [CodeSite];
      return [code(name), message, ...(head.length === 4 ? [hint] : []), from];
    });
  return table(head, rows);
}

function readSites(root: string, kind: keyof FileSites): CodeSite[] {
  return [...readPackages(root), ...readExtensions(root)]
    .filter(({ directory }) => directory !== "testkit")
    .flatMap((pkg) => {
      const files = ["src", "index.ts"].flatMap((part) => {
        const path = join(pkg.folder, part);
        return part.endsWith(".ts") ? (existsSync(path) ? [path] : []) : filesBelow(path, [".ts"]);
      });
      const name = pkg.private ? "bonsai-agent" : pkg.name;
      return files
        .filter((file) => SITE.test(readFileSync(file, "utf8")))
        .flatMap((file) => sitesIn(readSource(file), name)[kind]);
    });
}

const sitesOfFiles = new WeakMap<SourceFile, FileSites>();

function sitesIn(source: SourceFile, packageName: string): FileSites {
  const known = sitesOfFiles.get(source);
  if (known !== undefined) return known;
  const sites: FileSites = { errors: [], notices: [] };
  sitesOfFiles.set(source, sites);
  const visit = (node: Node, owner: string) => {
    if (node.type === "ObjectExpression") {
      const isError = owner === "BonsaiError";
      const isNotice =
        /notice|notify/i.test(owner) ||
        LEVELS.test(textOf(source, propertyOf(node, "level")?.value as Node | undefined));
      const named = propertyOf(node, "code") ?? (isNotice ? propertyOf(node, "type") : undefined);
      const name = named?.value.type === "Literal" ? String(named.value.value) : "";
      if ((isError || isNotice) && CODE.test(name)) {
        const field = (key: string) => textOf(source, propertyOf(node, key)?.value as Node | undefined);
        const described = commentAbove(source, named!).replaceAll("\n", " ");
        const message = described === "" ? field("message") : described;
        const site = { code: name, message, hint: field("hint"), package: packageName };
        (isError ? sites.errors : sites.notices).push(site);
      }
    }
    for (const child of childrenOf(node)) visit(child, ownerOf(node, owner));
  };
  for (const statement of source.body) visit(statement, "");
  return sites;
}

/** A file without one of these words creates no error and no notice. */
const SITE = /new BonsaiError|notice|notify|\blevel\b/i;
const CODE = /^[a-z0-9_]+$/;
const LEVELS = /^(info|warning)$/;

/** Name of the class, function or type that takes a node's direct children. */
function ownerOf(node: Node, outer: string): string {
  switch (node.type) {
    case "NewExpression":
    case "CallExpression": {
      const callee = node.callee as { name?: string; property?: { name?: string } };
      // An event is emitted by its name: `notify("turn_start", …)`.
      const isEvent = node.arguments[0]?.type === "Literal";
      return isEvent ? "" : (callee.property?.name ?? callee.name ?? "");
    }
    case "VariableDeclarator":
      return typeNameOf(node.id as Node);
    case "ConditionalExpression":
    case "LogicalExpression":
      return outer;
    default:
      return "";
  }
}

function typeNameOf(pattern: Node): string {
  const type = (pattern as { typeAnnotation?: { typeAnnotation?: { typeName?: { name?: string } } } })
    .typeAnnotation?.typeAnnotation;
  return type?.typeName?.name ?? "";
}

function propertyOf(node: Node, name: string): ObjectProperty | undefined {
  if (node.type !== "ObjectExpression") return undefined;
  return node.properties.find(
    (each): each is ObjectProperty =>
      each.type === "Property" && (each.key as { name?: string }).name === name,
  );
}
/** The text of an expression, with `…` for the values that it inserts. */
function textOf(source: SourceFile, node: Node | undefined): string {
  const text = node === undefined ? "" : read(source, node);
  return /\p{L}/u.test(text) ? text.replaceAll(/(?:…[\s:,"]*){2,}/g, "… ").trim() : "";
}

function read(source: SourceFile, node: Node): string {
  switch (node.type) {
    case "Literal":
      return String(node.value);
    case "TemplateLiteral":
      return node.quasis
        .map(({ value }, at) => `${value.cooked ?? ""}${at < node.expressions.length ? "…" : ""}`)
        .join("");
    case "BinaryExpression":
      return `${read(source, node.left as Node)}${read(source, node.right as Node)}`;
    case "ConditionalExpression": {
      const both = [node.consequent, node.alternate].map((each) => read(source, each as Node));
      return both.filter((text) => text !== "…" && text !== "").join(" / ") || "…";
    }
    case "CallExpression":
      return node.arguments.length === 1 ? read(source, node.arguments[0] as Node) : "…";
    case "Identifier": {
      const value = valueBefore(source, node.name, node.start);
      return value === undefined ? "…" : read(source, value);
    }
    default:
      return "…";
  }
}

/** Value of the constant that the nearest declaration above a place gives to a name. */
function valueBefore(source: SourceFile, name: string, before: number): Node | undefined {
  let nearest: Node | undefined;
  const visit = (node: Node) => {
    if (node.start > before) return;
    if (node.type === "VariableDeclarator" && node.end <= before)
      if ((node.id as { name?: string }).name === name && node.init) nearest = node.init as Node;
    for (const child of childrenOf(node)) visit(child);
  };
  for (const statement of source.body) visit(statement);
  return nearest;
}
