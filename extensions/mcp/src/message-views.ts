import { type ExtensionAPI, shortened } from "@bonsai-agent/extension";
import { plainText } from "./foreign-text.ts";
import { type PromptDetails, promptMessage } from "./prompts.ts";
import { type ResourceDetails, resourceMessage } from "./resources.ts";

/** Draws folded messages in the chat: resources by their names, prompts by their command. Bonsai draws expanded ones. */
export function registerMessages(bonsai: Pick<ExtensionAPI, "registerMessageRenderer">): void {
  bonsai.registerMessageRenderer<ResourceDetails>(resourceMessage, ({ details }, { expanded }, theme) => {
    const resources = Array.isArray(details?.resources) ? details.resources : [];
    if (expanded || resources.length === 0) return undefined;
    return {
      render: (width) =>
        resources.map(({ server, uri, bytes }) => {
          const size = `${Number(bytes).toLocaleString("en-US")} characters`;
          const name = shortened(plainText(`@${server}:${uri}`), Math.max(8, width - size.length - 4));
          return ` ${theme.fg("customMessageLabel", name)} ${theme.fg("dim", size)}`;
        }),
    };
  });
  bonsai.registerMessageRenderer<PromptDetails>(promptMessage, ({ details }, { expanded }, theme) => {
    const command = plainText(String(details?.command ?? ""));
    return expanded ? undefined : { render: () => [` ${theme.fg("customMessageLabel", command)}`] };
  });
}
