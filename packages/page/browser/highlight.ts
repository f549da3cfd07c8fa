import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = {
  ...{ bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, markdown, php, python },
  ...{ ruby, rust, sql, swift, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(["shell", "console"], { languageName: "bash" });
hljs.registerAliases(["tsx"], { languageName: "typescript" });

/** Longer code is shown without colours: to find them would hold up the page. */
const MAX_CHARS = 60_000;
/** When the colours of its beginning took so long, in milliseconds, the rest of the code has none. */
const MAX_MS = 150;
/** Characters highlighted at once: the time of a long word or line grows with the square of its length. */
const PIECE_CHARS = 4_000;
const MAX_LINE_CHARS = 1_000;

/** Code as escaped HTML with coloured spans. */
export function highlighted(code: string, language: string): string {
  const [name = ""] = language.toLowerCase().split(/\s/);
  if (code.length > MAX_CHARS || hljs.getLanguage(name) === undefined) return escaped(code);
  const end = performance.now() + MAX_MS;
  let html = "";
  for (const piece of piecesOf(code)) {
    const isRead = performance.now() < end && !longLine.test(piece);
    html += isRead ? hljs.highlight(piece, { language: name, ignoreIllegals: true }).value : escaped(piece);
  }
  return html;
}

const longLine = new RegExp(`.{${MAX_LINE_CHARS}}`);

/** Pieces end after an empty line if possible, else after a line. */
function* piecesOf(code: string): Generator<string> {
  let at = 0;
  while (code.length - at > PIECE_CHARS) {
    const window = code.slice(at, at + PIECE_CHARS);
    const empty = window.lastIndexOf("\n\n") + 2;
    const line = window.lastIndexOf("\n") + 1;
    const length = empty > PIECE_CHARS / 2 ? empty : line || PIECE_CHARS;
    yield code.slice(at, at + length);
    at += length;
  }
  yield code.slice(at);
}

export function escaped(code: string): string {
  return code.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
