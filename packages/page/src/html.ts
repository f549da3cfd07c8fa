import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { hiddenCharacters } from "@bonsai-agent/messages/host";
import type { SessionPage } from "./session-page.ts";

export interface PageHtmlOptions {
  /** Default: that of this package. */
  bundle?: PageBundle;
}

/**
 * A session as one HTML file in pieces, in order: what is needed first comes first, and no piece holds more than one
 * chunk. It needs no network, and runs nothing but the bundle.
 */
export function* pageHtml(
  page: SessionPage,
  { bundle = pageBundle() }: PageHtmlOptions = {},
): Generator<string> {
  const data = page.data();
  yield htmlHead(data.session.title, bundle, "'none'");
  yield element("data", data);
  yield `<script>${bundle.script}</script>\n`;
  for (const [number, place] of data.chunks.entries()) yield element(`chunk-${number}`, page.bodies(place));
  for (const end of data.compared) yield element(`compare-${end}`, page.comparison(end));
  yield "</body></html>\n";
}

/** Everything before the data. @param connect the sources that the page may ask, in the form of a policy */
export function htmlHead(title: string, bundle: PageBundle, connect: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(bundle, connect)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${bundle.style}</style></head>
<body><div id="page"><noscript>Turn on JavaScript to read this session. The page contacts no other server.</noscript></div>
`;
}

/** Allows only the bundle's script and style, and pictures inside of the page. */
export function pagePolicy({ scriptHash, styleHash }: PageBundle, connect: string): string {
  return [
    "default-src 'none'",
    `script-src ${scriptHash}`,
    `style-src ${styleHash}`,
    "img-src data: blob:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Data that no parser of HTML reads: compressed, in an alphabet without a bracket; or as it is, where that is shorter. */
function element(id: string, value: unknown): string {
  const text = pageJson(value);
  const packed = gzipSync(text).toString("base64");
  if (packed.length < Buffer.byteLength(text))
    return `<script type="application/octet-stream" id="${id}">${packed}</script>\n`;
  return `<script type="application/json" id="${id}">${text.replaceAll("<", "\\u003c")}</script>\n`;
}

/** Hidden characters become visible, one for one: the data of a page counts characters. */
export function pageJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(hiddenCharacters, ({ length }) => "\ufffd".repeat(length));
}

function escaped(text: string): string {
  return text
    .replaceAll(hiddenCharacters, "\ufffd")
    .replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

/** The built program and styles of the page. */
export interface PageBundle {
  script: string;
  style: string;
  /** In the form of a Content-Security-Policy: `'sha256-…'`. */
  scriptHash: string;
  styleHash: string;
}

let built: PageBundle | undefined;

/** Reads the built bundle, once. */
export function pageBundle(): PageBundle {
  built ??= readBundle();
  return built;
}

function readBundle(): PageBundle {
  // The sources are one folder beside the built files.
  const beside = new URL("./page-bundle/", import.meta.url);
  const folder = existsSync(beside) ? beside : new URL("../dist/page-bundle/", import.meta.url);
  // A closing tag in a string would end the element.
  const script = readFileSync(new URL("page.js", folder), "utf8").replaceAll("</script", "<\\/script");
  const style = readFileSync(new URL("page.css", folder), "utf8");
  return { script, style, scriptHash: hashOf(script), styleHash: hashOf(style) };
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
