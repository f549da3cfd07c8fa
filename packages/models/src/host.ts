// Shared by Bonsai's own packages. May change in any release.
export { anthropicThinking } from "./anthropic/anthropic-thinking.ts";
export { malformedArguments } from "./call-arguments.ts";
export { compatOfPi } from "./catalogue/pi-models-file.ts";
export { whyUnusable } from "./catalogue/usable-models.ts";
export { isWithheld } from "./exchange/attempts.ts";
export { isRefusedImageLine } from "./exchange/refused-images.ts";
export { textFile, writeWholeFile } from "./json-file.ts";
export { knownSecrets } from "./keys/secrets.ts";
export { isOwnAnswer, shownAddress } from "./model.ts";
export { providerCompactionOf } from "./provider-summary.ts";
export { askedThinking, nextThinkingLevel, withThinkingField } from "./thinking.ts";
export { splitThinking } from "./thinking-tags.ts";
export { retryAfterMs, wireCallId, wireToolName } from "./wire/fields.ts";
