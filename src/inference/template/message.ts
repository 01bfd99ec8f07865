/** A message of a conversation. */
export interface Message {
  role: string;
  content: string;
  /** The reasoning of an answer, which the template keeps or leaves out. */
  reasoning_content?: string | undefined;
}
