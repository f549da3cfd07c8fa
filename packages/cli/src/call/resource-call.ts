import { realpathSync } from "node:fs";
import {
  type Expansion,
  expandResourceCall,
  type PromptInput,
  type readPromptTemplates,
  type Skill,
} from "@bonsai-agent/agent";
import { isInside } from "@bonsai-agent/agent/host";
import { quotedFiles } from "@bonsai-agent/messages/host";
import { mentionedFiles } from "./file-mentions.ts";
import type { ResourcePlace } from "./resource-places.ts";

export type ReadTemplates = Awaited<ReturnType<typeof readPromptTemplates<ResourcePlace>>>;
type PromptTemplate = NonNullable<ReturnType<ReadTemplates["templates"]["get"]>>;
export type Called = (Skill & { place: ResourcePlace }) | PromptTemplate;

interface ExpandCallOptions extends Required<Pick<PromptInput, "text">> {
  images: NonNullable<PromptInput["images"]>;
  cwd: string;
  onNotice: (notice: { code: string; path: string; message: string }) => void;
}

/** Expands the call of a template or a skill. @throws BonsaiError `skill_unreadable` */
export function expandCall(called: Called, options: ExpandCallOptions): Expansion {
  const { typed, behind } = partsOf(options.text);
  const { text, commands } = expandResourceCall(called, typed);
  if (!("body" in called)) return { text: [text, behind].filter(Boolean).join("\n\n") };
  notifyFields(called, commands, options);
  const files = filesOf(text, called, options);
  const quotes = files.quotes.filter((quote) => !behind.includes(quote));
  const known = new Set(options.images.map(({ data }) => data));
  return {
    text: [text, ...quotes, behind].filter((part) => part !== "").join("\n\n"),
    typed: typed.trim(),
    images: files.images.filter(({ data }) => !known.has(data)),
  };
}

/** Splits the typed text from the quoted files and the piped text after it. */
function partsOf(text: string): { typed: string; behind: string } {
  const piped = text.endsWith("\n</stdin>") ? text.indexOf("\n\n<stdin>\n") : -1;
  const { text: typed } = quotedFiles(piped < 0 ? text : text.slice(0, piped));
  return { typed, behind: text.slice(typed.length).trim() };
}

/** Adds mentioned files, as for a typed text. An unusable one is a notice. */
function filesOf(text: string, { path, place }: PromptTemplate, options: ExpandCallOptions) {
  const { cwd, onNotice } = options;
  // The user's own templates may name any file; those of a project or a package, only files in the project.
  const isOwn = place.origin === "user" || place.origin === "settings" || place.origin === "flag";
  const project = realpathSync(cwd);
  return mentionedFiles(
    [text],
    { cwd },
    {
      isAllowed(file) {
        if (isOwn || isInside(project, realpathSync(file))) return true;
        onNotice({
          code: "prompt_file_left_out",
          path,
          message: `It mentions ${file}. Bonsai did not read this file: it is outside this project.`,
        });
        return false;
      },
      onProblem: ({ message }) => onNotice({ code: "prompt_file_left_out", path, message }),
    },
  );
}

function notifyFields(
  { path, name, model }: PromptTemplate,
  commands: readonly string[],
  { onNotice }: ExpandCallOptions,
): void {
  if (commands.length > 0)
    onNotice({
      code: "prompt_commands_not_run",
      path,
      message: `/${name} contains commands marked with ! (${commands.map((each) => each.split("\n", 1)[0]).join(", ")}). Bonsai does not run commands in prompt templates. The model can run them with its tools.`,
    });
  if (model !== undefined)
    onNotice({
      code: "prompt_model_ignored",
      path,
      message: `/${name} asks for the model ${model}. Bonsai uses the current model.`,
    });
}
