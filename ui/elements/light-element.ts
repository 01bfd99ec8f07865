import { LitElement } from 'lit';

/** An element without a shadow root: the page's styles apply to what it draws, and labels find their fields. */
export class LightElement extends LitElement {
  protected override createRenderRoot(): this {
    return this;
  }
}
