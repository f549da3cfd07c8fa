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
const MOST_CHARS = 60_000;

/** Code as HTML, escaped, with spans for what is coloured. */
export function highlighted(code: string, language: string): string {
  const [name = ""] = language.toLowerCase().split(/\s/);
  if (code.length > MOST_CHARS || hljs.getLanguage(name) === undefined) return plain(code);
  return hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
}

function plain(code: string): string {
  return code.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}
