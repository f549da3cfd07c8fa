import { inertTag } from "./frames.ts";

/** A skill that the user called, as it is sent: its text, and what the user wrote behind its name. */
export interface SkillCall {
  name: string;
  /** Its file. Absolute where it was sent from here. */
  path: string;
  /** Without the fields at its head. */
  body: string;
  /** Empty for none. */
  args: string;
}

// As pi writes it: sessions of both show the same.
const block = /^<skill name="([^"\n]+)" location="([^"\n]+)">\n([\s\S]*?)\n?<\/skill>(?:\n\n([\s\S]*))?$/;

/** The text of a message that calls a skill. */
export function skillCallText({ name, path, body, args }: SkillCall): string {
  const head = `<skill name="${attribute(name)}" location="${attribute(path)}">`;
  const sent = `${head}\n${inertTag(body, "skill")}\n</skill>`;
  return args === "" ? sent : `${sent}\n\n${args}`;
}

/** The call that a message is; undefined for any other. */
export function skillCallIn(text: string): SkillCall | undefined {
  if (!text.startsWith("<skill ")) return undefined;
  const [, name, path, body, args = ""] = block.exec(text) ?? [];
  if (name === undefined || path === undefined || body === undefined) return undefined;
  return { name: plain(name), path: plain(path), body, args };
}

/** As the user typed it: `/skill:name args`; any other text as it is. */
export function withoutSkill(text: string): string {
  const call = skillCallIn(text);
  return call === undefined ? text : `/skill:${call.name}${call.args === "" ? "" : ` ${call.args}`}`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("\n", "&#10;");
}

function plain(text: string): string {
  return text.replaceAll("&quot;", '"').replaceAll("&#10;", "\n").replaceAll("&amp;", "&");
}
