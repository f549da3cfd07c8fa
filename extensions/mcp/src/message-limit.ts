/** Of one message, with images and files in it. A server that sends more is closed. */
export const mostMessageBytes = 32 << 20;

export function tooLong(): Error {
  return new MessageTooLong(`It sent a message of more than ${mostMessageBytes >> 20} MB.`);
}

export class MessageTooLong extends Error {}
