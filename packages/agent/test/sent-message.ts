import type { Session } from "@bonsai-agent/session";
import type { CustomInput } from "../src/events.ts";

export const message = (content: CustomInput["content"], more: Partial<CustomInput> = {}): CustomInput => ({
  customType: "note",
  content,
  display: true,
  ...more,
});

/** The messages of the session in order: role and text. */
export function said(session: Session): string[] {
  return session.projection().items.map(({ message: each }) => {
    const text = "content" in each && typeof each.content === "string" ? ` ${each.content}` : "";
    return `${each.role}${text}`;
  });
}
