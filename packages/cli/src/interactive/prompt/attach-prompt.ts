import type { InteractiveWork } from "../interactive-work.ts";
import { slashCommands } from "../slash/slash-commands.ts";
import { PromptCompletion } from "./prompt-completion.ts";
import { PromptHistory } from "./prompt-history.ts";

/** Gives the editor its completion and the prompts of earlier sessions. */
export function attachPrompt(work: InteractiveWork): void {
  const { home } = work.host.workshop;
  const onFault = (message: string) => work.tell({ level: "warning", message });
  work.editor.useHistory(new PromptHistory({ home, onFault }));
  work.editor.setAutocompleteProvider(new PromptCompletion({ work, commands: slashCommands }));
}
