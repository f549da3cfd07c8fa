/** The parts of a system prompt, as pi shows them to handlers of `before_agent_start`, who may change them. */
export interface PromptOptions {
  cwd: string;
  selectedTools: string[];
  toolSnippets: Record<string, string>;
  toolGuidelines: Record<string, string[]>;
  promptGuidelines: string[];
  appendSystemPrompt: string;
  sections: Record<string, string>;
  contextFiles: { path: string; content: string }[];
  skills: never[];
}

/** A fresh set: Bonsai's prompt is one text, so that only what a handler adds can be told. */
export function promptOptions({
  cwd,
  selectedTools = [],
}: {
  cwd: string;
  selectedTools?: string[];
}): PromptOptions {
  return {
    cwd,
    selectedTools,
    toolSnippets: {},
    toolGuidelines: {},
    promptGuidelines: [],
    appendSystemPrompt: "",
    sections: {},
    contextFiles: [],
    skills: [],
  };
}

/** What a handler added, as text behind the system prompt; empty where it added nothing. */
export function addedPrompt({ promptGuidelines, appendSystemPrompt, sections }: PromptOptions): string {
  const parts = [
    promptGuidelines.map((line) => `- ${line}`).join("\n"),
    appendSystemPrompt,
    ...Object.entries(sections).map(([name, text]) => `<${name}>\n${text}\n</${name}>`),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}
