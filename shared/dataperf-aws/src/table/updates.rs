//! Conditional updates of single items.

use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValue;
use dataperf::ports::PortError;

use crate::sdk::port_error::port_error;
use crate::sdk::retry::Retry;
use crate::table::attributes::Item;
use crate::table::keys::Key;
use crate::table::{Change, Expressions, Table};

impl Table {
    /// Changes attributes of an item, which is made when it is not there. Gives the item as it is then; `None` where the condition does not hold.
    ///
    /// # Errors
    /// [`PortError`].
    pub(crate) async fn update_if(&self, key: Key, change: Change) -> Result<Option<Item>, PortError> {
        let Expressions {
            update,
            condition,
            names,
            values,
        } = change.expressions();
        let mut retry = Retry::new(self.describe("writing"));
        loop {
            let _call = self.meter.call();
            let request = self.client.update_item().table_name(&self.name);
            let request = request
                .set_key(Some(key.clone().item()))
                .update_expression(&update)
                .set_condition_expression(condition.clone())
                .set_expression_attribute_names(Some(names.clone()))
                .set_expression_attribute_values(values.clone())
                .return_values(ReturnValue::AllNew);
            match request.send().await {
                Ok(output) => return Ok(output.attributes.or_else(|| Some(Item::new()))),
                Err(error) => match error.as_service_error() {
                    Some(UpdateItemError::ConditionalCheckFailedException(_)) => return Ok(None),
                    // a transaction is changing the item
                    Some(UpdateItemError::TransactionConflictException(_)) => retry.changed().await?,
                    _ => return Err(port_error(self.describe("writing"), error)),
                },
            }
        }
    }
}
